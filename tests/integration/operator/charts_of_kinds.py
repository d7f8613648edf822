"""Charts of many sorts, in two versions: what they bring, hooks, lookups, and values from elsewhere."""

from collections.abc import Mapping
from pathlib import Path

import orjson

from tests.integration.operator.granting import written_bundle
from tests.manifests import crd
from tests.unit.charts import config_map, hook

POD = """
      labels: {app: web}
    spec:
      serviceAccountName: web
      containers: [{name: web, image: "registry.example.com/web:{{ .Chart.Version }}"}]
"""
PODS = f"selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata:{POD}"
SUBJECTS = "subjects: [{kind: ServiceAccount, name: web, namespace: {{ .Release.Namespace }}}]"
RBAC = "rbac.authorization.k8s.io"


def _object(api: str, kind: str, name: str, *body: str) -> str:
    return "\n".join([f"apiVersion: {api}", f"kind: {kind}", f"metadata: {{name: {name}}}", *body, ""])


def _account() -> str:
    return _object("v1", "ServiceAccount", "web")


def _service() -> str:
    return _object("v1", "Service", "web", "spec: {selector: {app: web}, ports: [{name: http, port: 80}]}")


def _bound(kind: str, name: str, rules: str) -> str:
    reference = f"roleRef: {{apiGroup: {RBAC}, kind: {kind}, name: {name}}}"
    role = _object(f"{RBAC}/v1", kind, name, f"rules: {rules}")
    return f"{role}---\n{_object(f'{RBAC}/v1', f'{kind}Binding', name, reference, SUBJECTS)}"


def _web() -> Mapping[str, str]:
    return {
        "web": _object("apps/v1", "Deployment", "web", f"spec:\n  replicas: 1\n  {PODS}"),
        "account": _account(),
        "service": _service(),
        "settings": config_map("settings", ".Values.value"),
        "role": _bound("Role", "web", '[{apiGroups: [""], resources: [pods, configmaps], verbs: [get, list, watch]}]'),
    }


def _stateful() -> Mapping[str, str]:
    claim = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
    return {
        "set": _object("apps/v1", "StatefulSet", "web", f"spec:\n  replicas: 0\n  serviceName: web\n  {PODS}"),
        "account": _account(),
        "service": _service(),
        "claim": _object("v1", "PersistentVolumeClaim", "cache", f"spec: {claim}"),
        "login": _object("v1", "Secret", "login", "stringData: {user: admin}"),
        "budget": _object(
            "policy/v1", "PodDisruptionBudget", "web", "spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}"
        ),
    }


def _hooks() -> Mapping[str, str]:
    secret = _object("v1", "Secret", "seed", "stringData: {seed: a}")
    return {
        "settings": config_map("settings"),
        "before": hook("before", "pre-install,pre-upgrade", **{"delete-policy": "before-hook-creation"}),
        "after": hook("after", "post-install,post-upgrade", **{"delete-policy": "hook-succeeded"}),
        "seed": secret.replace("{name: seed}", '{name: seed, annotations: {helm.sh/hook: "pre-install"}}'),
        "goodbye": hook("goodbye", "pre-delete,post-delete"),
    }


def _cluster(mark: str) -> Mapping[str, str]:
    label = f"{{name: more-{mark}, labels: {{rbac.authorization.k8s.io/aggregate-to-{mark}: yes-it-does}}}}"
    more = _object(f"{RBAC}/v1", "ClusterRole", "more", 'rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]')
    return {
        "account": _account(),
        "nodes": _bound("ClusterRole", f"nodes-{mark}", '[{apiGroups: [""], resources: [nodes], verbs: [get, list]}]'),
        "more": more.replace("{name: more}", label),
        "urls": _bound("ClusterRole", f"urls-{mark}", "[{nonResourceURLs: [/metrics], verbs: [get]}]"),
        "priority": _object("scheduling.k8s.io/v1", "PriorityClass", f"first-{mark}", "value: 1000"),
        "storage": _object("storage.k8s.io/v1", "StorageClass", f"fast-{mark}", "provisioner: example.com/fast"),
    }


def _network() -> Mapping[str, str]:
    backend = "{service: {name: web, port: {number: 80}}}"
    reference = "{apiVersion: apps/v1, kind: Deployment, name: web}"
    return {
        "web": _object("apps/v1", "Deployment", "web", f"spec:\n  {PODS}"),
        "account": _account(),
        "service": _service(),
        "ingress": _object("networking.k8s.io/v1", "Ingress", "web", f"spec: {{defaultBackend: {backend}}}"),
        "policy": _object("networking.k8s.io/v1", "NetworkPolicy", "web", "spec: {podSelector: {}, ingress: [{}]}"),
        "scaler": _object(
            "autoscaling/v2", "HorizontalPodAutoscaler", "web", f"spec: {{maxReplicas: 3, scaleTargetRef: {reference}}}"
        ),
    }


def _jobs() -> Mapping[str, str]:
    pod = "{restartPolicy: Never, containers: [{name: a, image: none}]}"
    job = f"{{template: {{spec: {pod}}}}}"
    return {
        "job": _object("batch/v1", "Job", 'once-{{ .Chart.Version | replace "." "-" }}', f"spec: {job}"),
        "cron": _object(
            "batch/v1", "CronJob", "daily", f'spec: {{schedule: "0 0 * * *", jobTemplate: {{spec: {job}}}}}'
        ),
        "daemon": _object("apps/v1", "DaemonSet", "web", f"spec:\n  {PODS}"),
        "account": _account(),
        "limits": _object("v1", "LimitRange", "web", "spec: {limits: [{type: Pod, max: {cpu: 9}}]}"),
        "quota": _object("v1", "ResourceQuota", "web", "spec: {hard: {pods: 99}}"),
    }


def _kinds(mark: str) -> Mapping[str, str]:
    return {
        "first": _object(f"{mark}.example.com/v1", "Thing", "first", "spec: {a: {{ .Chart.Version | quote }}}"),
        "settings": config_map("settings"),
    }


def _admission(mark: str) -> Mapping[str, str]:
    rules = "[{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [all]}]"
    given = f"sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore, rules: {rules}"
    hooks = f"webhooks: [{{name: a.example.com, clientConfig: {{url: 'https://127.0.0.1:1/'}}, {given}}}]"
    policy = f"{{matchConstraints: {{resourceRules: {rules}}}, validations: [{{expression: 'true'}}]}}"
    binding = f"{{policyName: allow-{mark}, validationActions: [Warn]}}"
    api = "admissionregistration.k8s.io/v1"
    return {
        "validating": _object(api, "ValidatingWebhookConfiguration", f"v-{mark}", hooks),
        "mutating": _object(api, "MutatingWebhookConfiguration", f"m-{mark}", hooks),
        "policy": _object(api, "ValidatingAdmissionPolicy", f"allow-{mark}", f"spec: {policy}"),
        "binding": _object(api, "ValidatingAdmissionPolicyBinding", f"allow-{mark}", f"spec: {binding}"),
    }


def _rare(mark: str) -> Mapping[str, str]:
    """Kinds that charts seldom bring; the EndpointSlice belongs to the Service, which has no selector."""
    slices = "addressType: IPv4\nports: [{name: http, port: 80}]\nendpoints: [{addresses: [10.9.9.9]}]"
    return {
        "account": _account(),
        "service": _object("v1", "Service", "web", "spec: {ports: [{name: http, port: 80}]}"),
        "slice": _object("discovery.k8s.io/v1", "EndpointSlice", "web", slices),
        "lease": _object("coordination.k8s.io/v1", "Lease", "web", "spec: {holderIdentity: web}"),
        "set": _object("apps/v1", "ReplicaSet", "web", f"spec:\n  replicas: 0\n  {PODS}"),
        "runtime": _object("node.k8s.io/v1", "RuntimeClass", f"slow-{mark}", "handler: slow"),
        "class": _object("networking.k8s.io/v1", "IngressClass", f"web-{mark}", "spec: {controller: example.com/web}"),
        "driver": _object("storage.k8s.io/v1", "CSIDriver", f"{mark}.example.com", "spec: {attachRequired: false}"),
    }


def _brought(mark: str) -> Mapping[str, str]:
    there = f"{{name: there, namespace: more-{mark}}}"
    return {
        "space": _object("v1", "Namespace", f"more-{mark}"),
        "there": _object("v1", "ConfigMap", "there", "data: {a: b}").replace("{name: there}", there),
        "secret": _object("v1", "Secret", "there", "stringData: {a: b}").replace("{name: there}", there),
    }


def templates_of(mark: str) -> Mapping[str, Mapping[str, str]]:
    """Templates of each chart. Names in the cluster have the mark. The second version lacks the last template."""
    return {
        "web": _web(),
        "stateful": _stateful(),
        "hooks": _hooks(),
        "cluster": _cluster(mark),
        "network": _network(),
        "jobs": _jobs(),
        "kinds": _kinds(mark),
        "admission": _admission(mark),
        "rare": _rare(mark),
        "brought": _brought(mark),
    }


def written_charts(folder: Path, name: str, mark: str) -> tuple[Path, Path]:
    """Folders of both versions."""
    templates = dict(templates_of(mark)[name])
    crds = {"crds/things.yaml": orjson.dumps(crd(f"{mark}.example.com")).decode()} if name == "kinds" else {}
    folders = []
    for version in ("1.0.0", "2.0.0"):
        files = {f"templates/{one}.yaml": text for one, text in templates.items()}
        metadata = f"apiVersion: v2\nname: {name}\nversion: {version}\n"
        folders.append(written_bundle(folder / f"{name}-{version}", {"Chart.yaml": metadata, **crds, **files}))
        templates.popitem()
    return folders[0], folders[1]
