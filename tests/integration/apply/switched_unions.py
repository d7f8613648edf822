"""Unions of built-in kinds, in the forms that content may give them, and a field of another client inside of a form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.integration.apply.room import Manifest
from tests.manifests import manifest

Put = Callable[[Manifest], None]
APP = {"app": "x"}
ADMISSION = "admissionregistration.k8s.io/v1"
FLOW = "flowcontrol.apiserver.k8s.io/v1"


@dataclass(frozen=True, kw_only=True)
class Form:
    """`put` writes it into a manifest; `touch` is what another client sets inside of it."""

    put: Put
    touch: Put | None = None


@dataclass(frozen=True, kw_only=True)
class Switched:
    base: Callable[[], Manifest]
    forms: Mapping[str, Form]


def at(*path: str | int, **fields: Any) -> Put:
    """Sets these fields there; None removes one."""

    def put(manifest: Manifest) -> None:
        holder: Any = manifest
        for step in path:
            holder = holder.setdefault(step, {}) if isinstance(step, str) else holder[step]
        holder.update(fields)
        for name in [name for name, value in fields.items() if value is None]:
            del holder[name]

    return put


def nothing(_manifest: Manifest) -> None:
    return


def pod_spec(**fields: Any) -> Manifest:
    return {"containers": [{"name": "c", "image": "none.test/none"}], **fields}


def workload(kind: str, **fields: Any) -> Manifest:
    template = {"metadata": {"labels": APP}, "spec": pod_spec()}
    spec = {"replicas": 0, "selector": {"matchLabels": APP}, "template": template, **fields}
    return manifest("apps/v1", kind, "x", spec=spec)


def deployment() -> Manifest:
    return workload("Deployment")


def deployment_with(**container: Any) -> Callable[[], Manifest]:
    def base() -> Manifest:
        made = deployment()
        made["spec"]["template"]["spec"]["containers"][0].update(container)
        return made

    return base


def with_volume() -> Manifest:
    made = deployment()
    made["spec"]["template"]["spec"]["volumes"] = [{"name": "other", "emptyDir": {}}, {"name": "v"}]
    return made


def cron_job() -> Manifest:
    template = {"spec": pod_spec(restartPolicy="Never")}
    job = {"completions": 2, "parallelism": 1, "template": template}
    return manifest(
        "batch/v1", "CronJob", "x", spec={"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": job}}
    )


def daemon_set() -> Manifest:
    made = workload("DaemonSet")
    del made["spec"]["replicas"]
    return made


def autoscaler() -> Manifest:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2}
    return manifest("autoscaling/v2", "HorizontalPodAutoscaler", "x", spec=spec)


def policy() -> Manifest:
    return manifest("networking.k8s.io/v1", "NetworkPolicy", "x", spec={"podSelector": {}})


def service() -> Manifest:
    return manifest("v1", "Service", "x", spec={"selector": APP, "ports": [{"name": "http", "port": 80}]})


def ingress() -> Manifest:
    return manifest("networking.k8s.io/v1", "Ingress", "x", spec={"defaultBackend": {}})


def disruption_budget() -> Manifest:
    return manifest("policy/v1", "PodDisruptionBudget", "x", spec={"selector": {"matchLabels": APP}})


def webhooks(kind: str) -> Callable[[], Manifest]:
    hook = {"name": "v.none.test", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore"}
    return lambda: manifest(ADMISSION, kind, "x", webhooks=[{**hook, "clientConfig": {}}])


def priority_level() -> Manifest:
    limited = {"nominalConcurrencyShares": 1, "lendablePercent": 0}
    return manifest(FLOW, "PriorityLevelConfiguration", "x", spec={"type": "Limited", "limited": limited})


POD = ("spec", "template", "spec")
CONTAINER = (*POD, "containers", 0)
VOLUME = (*POD, "volumes", 1)
JOB = ("spec", "jobTemplate", "spec")
JOB_POD = (*JOB, "template", "spec")
AVERAGE = {"target": {"type": "AverageValue", "averageValue": "1"}}
RESPONSE = ("spec", "limited", "limitResponse")
ITEMS = [{"key": "a", "path": "a"}]
BUNDLE = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"
HANDLERS = {
    "exec": {"command": ["true"]},
    "httpGet": {"port": 80, "path": "/ready"},
    "tcpSocket": {"port": 80},
    "grpc": {"port": 80},
    "sleep": {"seconds": 1},
}


def handlers(*path: str | int, names: tuple[str, ...]) -> dict[str, Form]:
    forms = {name: Form(put=at(*path, **{name: HANDLERS[name]})) for name in names}
    return {**forms, "httpGet": Form(put=forms["httpGet"].put, touch=at(*path, "httpGet", host="127.0.0.1"))}


def variable(**source: Any) -> Form:
    return Form(put=at(*CONTAINER, env=[{"name": "OTHER", "value": "1"}, {"name": "A", **source}]))


def volume(**source: Any) -> Form:
    (name,) = source
    touches: dict[str, Put] = {
        "configMap": at(*VOLUME, name, optional=True),
        "secret": at(*VOLUME, name, optional=True),
        "emptyDir": at(*VOLUME, name, sizeLimit="1Mi"),
    }
    return Form(put=at(*VOLUME, **source), touch=touches.get(name))


def profile(*path: str | int) -> dict[str, Form]:
    return {
        "Localhost": Form(put=at(*path, type="Localhost", localhostProfile="a")),
        "RuntimeDefault": Form(put=at(*path, type="RuntimeDefault")),
    }


def strategy(field: str, other: str, *, touch: Put) -> dict[str, Form]:
    return {
        "unset": Form(put=nothing, touch=touch),
        "RollingUpdate": Form(put=at("spec", field, type="RollingUpdate"), touch=touch),
        other: Form(put=at("spec", field, type=other)),
    }


PORTS = [
    {"containerPort": 53, "name": "dns", "protocol": "UDP"},
    {"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"},
]
PARTITION = at("spec", "updateStrategy", rollingUpdate={"partition": 1})
MAX_SURGE = at("spec", "strategy", "rollingUpdate", maxSurge=2)
AFFINITY_TIMEOUT = at("spec", "sessionAffinityConfig", "clientIP", timeoutSeconds=7)
SWITCHED: dict[str, Switched] = {
    "Deployment strategy": Switched(
        base=deployment_with(ports=PORTS),
        forms={
            **strategy("strategy", "Recreate", touch=MAX_SURGE),
            "values alone": Form(put=at("spec", strategy={"rollingUpdate": {"maxSurge": 3}})),
            "with values": Form(
                put=at("spec", strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3}}),
                touch=at("spec", "strategy", "rollingUpdate", maxUnavailable=2),
            ),
        },
    ),
    "StatefulSet strategy": Switched(
        base=lambda: workload("StatefulSet", serviceName="x"),
        forms=strategy(
            "updateStrategy", "OnDelete", touch=at("spec", "updateStrategy", rollingUpdate={"partition": 1})
        ),
    ),
    "volume": Switched(
        base=with_volume,
        forms={
            "unset": Form(put=nothing, touch=at(*VOLUME, "emptyDir", medium="Memory")),
            "emptyDir": volume(emptyDir={}),
            "configMap": volume(configMap={"name": "a", "items": ITEMS}),
            "secret": volume(secret={"secretName": "a"}),
            "downwardAPI": volume(downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}),
            "persistentVolumeClaim": volume(persistentVolumeClaim={"claimName": "a"}),
            "projected": volume(projected={"sources": [{"secret": {"name": "a"}}]}),
            "hostPath": volume(hostPath={"path": "/a"}),
            "csi": volume(csi={"driver": "a.test", "nodePublishSecretRef": {"name": "a"}}),
            "ephemeral": volume(
                ephemeral={
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
                    }
                }
            ),
        },
    ),
    "volume of a CronJob": Switched(
        base=cron_job,
        forms={
            "unset": Form(put=at(*JOB_POD, volumes=[{"name": "v"}])),
            "secret": Form(put=at(*JOB_POD, volumes=[{"name": "v", "secret": {"secretName": "a"}}])),
        },
    ),
    "DaemonSet strategy": Switched(
        base=daemon_set,
        forms=strategy("updateStrategy", "OnDelete", touch=at("spec", "updateStrategy", "rollingUpdate", maxSurge=0)),
    ),
    "metric of an autoscaler": Switched(
        base=autoscaler,
        forms={
            "Resource": Form(put=at("spec", metrics=[{"type": "Resource", "resource": {"name": "cpu", **AVERAGE}}])),
            "External": Form(
                put=at("spec", metrics=[{"type": "External", "external": {"metric": {"name": "a"}, **AVERAGE}}])
            ),
        },
    ),
    "source of variables": Switched(
        base=deployment,
        forms={
            "configMapRef": Form(put=at(*CONTAINER, envFrom=[{"configMapRef": {"name": "a"}}])),
            "secretRef": Form(put=at(*CONTAINER, envFrom=[{"secretRef": {"name": "a"}}])),
        },
    ),
    "peer of a policy": Switched(
        base=policy,
        forms={
            "podSelector": Form(put=at("spec", ingress=[{"from": [{"podSelector": {"matchLabels": APP}}]}])),
            "ipBlock": Form(put=at("spec", ingress=[{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}])),
        },
    ),
    "probe": Switched(
        base=deployment,
        forms=handlers(*CONTAINER, "readinessProbe", names=("exec", "httpGet", "tcpSocket", "grpc")),
    ),
    "lifecycle": Switched(
        base=deployment,
        forms=handlers(*CONTAINER, "lifecycle", "preStop", names=("exec", "httpGet", "sleep")),
    ),
    "variable": Switched(
        base=deployment,
        forms={
            "value": variable(value="1"),
            "fieldRef": variable(valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
            "configMapKeyRef": variable(valueFrom={"configMapKeyRef": {"name": "a", "key": "a"}}),
            "secretKeyRef": variable(valueFrom={"secretKeyRef": {"name": "a", "key": "a"}}),
        },
    ),
    "seccomp profile": Switched(base=deployment, forms=profile(*POD, "securityContext", "seccompProfile")),
    "AppArmor profile": Switched(base=deployment, forms=profile(*CONTAINER, "securityContext", "appArmorProfile")),
    "CronJob completion mode": Switched(
        base=cron_job,
        forms={
            "unset": Form(put=nothing),
            "NonIndexed": Form(put=at(*JOB, completionMode="NonIndexed")),
            "Indexed": Form(
                put=at(*JOB, completionMode="Indexed", backoffLimitPerIndex=1),
                touch=at(*JOB, successPolicy={"rules": [{"succeededCount": 1}]}),
            ),
        },
    ),
    "Service type": Switched(
        base=service,
        forms={
            "unset": Form(put=nothing),
            "ClusterIP": Form(put=at("spec", type="ClusterIP")),
            "NodePort": Form(put=at("spec", type="NodePort")),
            "ExternalName": Form(put=at("spec", type="ExternalName", externalName="a.test", ports=None)),
            "LoadBalancer": Form(
                put=at("spec", type="LoadBalancer"), touch=at("spec", loadBalancerSourceRanges=["10.0.0.0/8"])
            ),
            "LoadBalancer with ranges": Form(
                put=at("spec", type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8"])
            ),
        },
    ),
    "headless Service": Switched(
        base=service,
        forms={
            "headless": Form(put=at("spec", clusterIP="None")),
            "ExternalName": Form(put=at("spec", type="ExternalName", externalName="a.test", ports=None)),
        },
    ),
    "session affinity": Switched(
        base=service,
        forms={
            "unset": Form(put=nothing),
            "None": Form(put=at("spec", sessionAffinity="None")),
            "ClientIP": Form(put=at("spec", sessionAffinity="ClientIP"), touch=AFFINITY_TIMEOUT),
            "with a timeout": Form(
                put=at("spec", sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 9}}),
                touch=AFFINITY_TIMEOUT,
            ),
        },
    ),
    "Ingress backend": Switched(
        base=ingress,
        forms={
            "service": Form(put=at("spec", "defaultBackend", service={"name": "a", "port": {"number": 80}})),
            "resource": Form(put=at("spec", "defaultBackend", resource={"kind": "a", "name": "a"})),
        },
    ),
    "disruption budget": Switched(
        base=disruption_budget,
        forms={
            "minAvailable": Form(put=at("spec", minAvailable=1)),
            "maxUnavailable": Form(put=at("spec", maxUnavailable="10%")),
        },
    ),
    **{
        kind: Switched(
            base=webhooks(kind),
            forms={
                "url": Form(put=at("webhooks", 0, "clientConfig", url="https://127.0.0.1:1/x")),
                "service": Form(
                    put=at("webhooks", 0, "clientConfig", service={"name": "a", "namespace": "a"}),
                    touch=at("webhooks", 0, "clientConfig", "service", path="/other"),
                ),
            },
        )
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    },
    "priority level": Switched(
        base=priority_level,
        forms={
            "Reject": Form(put=at(*RESPONSE, type="Reject")),
            "Queue": Form(
                put=at(*RESPONSE, type="Queue", queuing={"queues": 8, "handSize": 2}),
                touch=at(*RESPONSE, "queuing", queueLengthLimit=7),
            ),
        },
    ),
}
SIDECAR = [{"name": "c", "image": "none.test/none"}, {"name": "sidecar", "image": "none.test/none"}]
DROPPED = {
    "probe": Form(
        put=at(*CONTAINER, readinessProbe={"exec": HANDLERS["exec"]}),
        touch=at(*CONTAINER, "readinessProbe", periodSeconds=33),
    ),
    "profile": Form(
        put=profile(*POD, "securityContext", "seccompProfile")["Localhost"].put,
        touch=at(*POD, "securityContext", "seccompProfile", localhostProfile="b"),
    ),
    "container": Form(
        put=at(*POD, containers=SIDECAR), touch=at(*POD, "containers", 1, "resources", limits={"cpu": "1"})
    ),
}
