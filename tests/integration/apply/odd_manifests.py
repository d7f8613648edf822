"""Manifests that a naive server-side apply refuses, fights over, or writes again each time. All were seen to be odd.

`x` is the name of each; the test gives it, and cluster-scoped ones a name of their own.
"""

from typing import Any

APP = {"app": "x"}
SELECTOR = {"matchLabels": APP}
RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"


def manifest(api_version: str, kind: str, *, metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata or {}, **fields}


def pod_spec(container: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "none.test/none", **(container or {})}], **fields}


def deployment(container: dict[str, Any] | None = None, *, metadata: Any = None, **fields: Any) -> dict[str, Any]:
    template = {"metadata": {"creationTimestamp": None, "labels": APP}, "spec": pod_spec(container, **fields)}
    spec = {"replicas": 0, "strategy": {}, "selector": SELECTOR, "template": template}
    return manifest("apps/v1", "Deployment", metadata=metadata, spec=spec, status={})


def job(**fields: Any) -> dict[str, Any]:
    return manifest(
        "batch/v1", "Job", spec={"suspend": True, **fields, "template": {"spec": pod_spec(restartPolicy="Never")}}
    )


def network_policy(**fields: Any) -> dict[str, Any]:
    return manifest("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, **fields})


def webhooks(kind: str, *hooks: dict[str, Any]) -> dict[str, Any]:
    return manifest(ADMISSION, kind, webhooks=list(hooks))


WEBHOOK = {
    "name": "v.none.test",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "failurePolicy": "Ignore",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "rules": [],  # never called
    "matchConditions": [],
    "namespaceSelector": {"matchLabels": {}, "matchExpressions": []},
}
FOREIGN_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": True}
SERVER_FIELDS = {
    "managedFields": [],
    "uid": "6f1c0e1e-0000-4000-8000-000000000000",
    "resourceVersion": "1",
    "generation": 7,
    "selfLink": "/x",
    "creationTimestamp": "2020-01-01T00:00:00Z",
    "deletionTimestamp": "2020-01-01T00:00:00Z",
}

ODD: dict[str, dict[str, Any]] = {
    "secret with stringData": manifest("v1", "Secret", data={"a": "YQ=="}, stringData={"a": "A", "b": "B"}),
    "secret with nulls": manifest("v1", "Secret", data={"a": None}, stringData=None),
    "config map with null binary data": manifest("v1", "ConfigMap", data={"b": None}, binaryData={"a": None}),
    "config map with everything of the server": manifest("v1", "ConfigMap", metadata=SERVER_FIELDS, data={"a": "1"}),
    "config map with a foreign owner": manifest("v1", "ConfigMap", metadata={"ownerReferences": [FOREIGN_OWNER]}),
    "config map with an unknown field of metadata": manifest("v1", "ConfigMap", metadata={"nonsense": 1}),
    "config map with null labels": manifest("v1", "ConfigMap", metadata={"labels": {"a": None}, "annotations": None}),
    "config map with a finalizer twice": manifest("v1", "ConfigMap", metadata={"finalizers": ["a.test/b"] * 2}),
    "account with a secret twice": manifest("v1", "ServiceAccount", secrets=[{"name": "a"}, {"name": "a"}]),
    "service with a blank protocol": manifest(
        "v1", "Service", spec={"selector": {"a": None}, "ports": [{"port": 80, "protocol": "", "nodePort": None}]}
    ),
    "deployment with empty parts": deployment({"env": [], "args": None, "resources": {}}, volumes=[], affinity=None),
    "deployment with a variable twice": deployment(
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}]}
    ),
    "deployment with a port twice": deployment(
        {"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "protocol": "TCP", "name": "b"}]}
    ),
    "deployment with a pull secret twice": deployment(imagePullSecrets=[{"name": "a"}, {"name": "a"}, {}, {}]),
    "deployment with a host alias twice": deployment(
        hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.1", "hostnames": ["b"]}]
    ),
    "deployment with nulls in maps": deployment(
        {"resources": {"limits": {"cpu": None}, "requests": None}}, nodeSelector={"disk": None}
    ),
    "job with an empty selector": job(selector={}),
    "job with an empty selector inside": job(selector={"matchLabels": {}}),
    "pod template": manifest(
        "v1", "PodTemplate", template={"spec": pod_spec({"env": [{"name": "A"}, {"name": "A", "value": "1"}]})}
    ),
    "claim": manifest(
        "v1",
        "PersistentVolumeClaim",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "none",
            "resources": {"requests": {"storage": "1024Mi"}},
        },
    ),
    "policy without rules": network_policy(ingress=[], egress=[], policyTypes=["Ingress", "Egress"]),
    "policy without types": network_policy(policyTypes=[], ingress=None),
    "policy with empty peers": network_policy(ingress=[{"from": [], "ports": []}], egress=[{"to": []}]),
    "policy with an empty selector": network_policy() | {"spec": {"podSelector": {"matchLabels": {}}}},
    "validating webhooks: none": webhooks("ValidatingWebhookConfiguration"),
    "mutating webhooks: none": webhooks("MutatingWebhookConfiguration"),
    "validating webhook with empty parts": webhooks("ValidatingWebhookConfiguration", WEBHOOK),
    "mutating webhook with empty parts": webhooks("MutatingWebhookConfiguration", WEBHOOK),
    "storage class with empty parameters": manifest(
        "storage.k8s.io/v1", "StorageClass", provisioner="none.test/none", parameters={}, mountOptions=[]
    ),
    "role with null rules": manifest(RBAC, "Role", rules=None),
    "cluster role in a namespace": manifest(RBAC, "ClusterRole", metadata={"namespace": "elsewhere"}, rules=[]),
    "priority class of zero": manifest(
        "scheduling.k8s.io/v1", "PriorityClass", value=0, globalDefault=False, description=""
    ),
}
