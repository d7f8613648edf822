"""All defects of an object of the API server's own kinds: what its validation would refuse.

Nothing is told where the server may decide otherwise: a field of a newer server, a default of a controller.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.object_rules import access, names, networks, others, pods, schemas, selectors, workloads
from rukpak_py.formats.object_rules.by_field import field_defects
from rukpak_py.formats.object_rules.by_table import table_defects, type_defects
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort, parts

Check = Callable[[Part], Iterator[Defect]]

_CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "PodSpec": (pods.pod,),
    "Container": (pods.container,),
    "EnvVar": (pods.env_var,),
    "Probe": (pods.probe,),
    "HTTPGetAction": (pods.port_of_action,),
    "TCPSocketAction": (pods.port_of_action,),
    "ResourceRequirements": (pods.resources,),
    "VolumeResourceRequirements": (pods.resources,),
    "PodDNSConfig": (pods.dns_config,),
    "HostAlias": (pods.host_alias,),
    "PodSecurityContext": (pods.pod_security,),
    "VolumeMount": (pods.mount,),
    "ObjectFieldSelector": (pods.field_reference,),
    "ResourceFieldSelector": (pods.resource_reference,),
    "EmptyDirVolumeSource": (pods.empty_dir,),
    "SeccompProfile": (pods.seccomp,),
    "PodTemplateSpec": (workloads.template,),
    "LabelSelector": (selectors.label_selector,),
    "LabelSelectorRequirement": (selectors.label_requirement,),
    "NodeSelectorRequirement": (selectors.node_requirement,),
    "Toleration": (selectors.toleration,),
    "TopologySpreadConstraint": (selectors.spread_constraint,),
    "DeploymentSpec": (workloads.deployment,),
    "StatefulSetSpec": (workloads.stateful_set,),
    "DaemonSetSpec": (workloads.daemon_set,),
    "ReplicaSetSpec": (workloads.replica_set,),
    "JobSpec": (workloads.job,),
    "CronJobSpec": (workloads.cron_job,),
    "ServiceSpec": (networks.service,),
    "ServicePort": (networks.service_port,),
    "IngressSpec": (networks.ingress,),
    "HTTPIngressPath": (networks.ingress_path,),
    "NetworkPolicySpec": (networks.network_policy,),
    "NetworkPolicyPeer": (networks.policy_peer,),
    "NetworkPolicyPort": (networks.policy_port,),
    "IPBlock": (networks.ip_block,),
    "PolicyRule": (access.policy_rule,),
    "RoleBinding": (access.binding,),
    "ClusterRoleBinding": (access.binding,),
    "rbac.v1.Subject": (access.subject,),
    "ConfigMap": (others.config_map,),
    "Secret": (others.secret,),
    "autoscaling.v1.HorizontalPodAutoscalerSpec": (others.autoscaler,),
    "autoscaling.v2.HorizontalPodAutoscalerSpec": (others.autoscaler,),
    "autoscaling.v2.MetricSpec": (others.metric,),
    "MetricSpec": (others.metric,),
    "MetricTarget": (others.metric_target,),
    "PodDisruptionBudgetSpec": (others.disruption_budget,),
    "PersistentVolumeClaimSpec": (others.claim,),
    "PriorityClass": (others.priority_class,),
    "StorageClass": (others.storage_class,),
    "ValidatingWebhook": (others.webhook,),
    "MutatingWebhook": (others.webhook,),
    "RuleWithOperations": (others.webhook_rule,),
    "LimitRangeItem": (others.limit_range_item,),
    "ResourceQuotaSpec": (others.hard_limits,),
    "CustomResourceDefinition": (schemas.schemas,),
}
# Kinds that are nothing without a spec.
_WITH_SPEC: Final = frozenset(
    {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod", "Ingress", "Service"}
    | {"PersistentVolumeClaim", "CustomResourceDefinition"}
    | {f"autoscaling.{version}.HorizontalPodAutoscaler" for version in ("v1", "v2")}
)
MOST: Final = 200  # of one object; a hostile one has a million


def of_object(manifest: dict[str, Any]) -> list[Defect]:
    """Those of a whole object; none of a kind that the tables do not have. The status is never applied."""
    api_version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
    if shapes.kind(api_version, kind) is None:
        return []
    return of_part({key: value for key, value in manifest.items() if key != "status"}, f"{api_version}/{kind}")


def of_part(value: Any, type_name: str) -> list[Defect]:
    """Those of a part of an object, as the spec of a deployment in a ClusterServiceVersion."""
    return list(islice(_found(value, type_name), MOST))


def _found(value: Any, type_name: str) -> Iterator[Defect]:
    yield from type_defects(value, type_name)
    for part in parts(value, shapes.shape(type_name)):
        if part.around is None:
            yield from names.metadata(part)
            if part.struct in _WITH_SPEC and not part.value.get("spec"):
                yield part.defect(Sort.REQUIRED, "spec is required", "spec")
        yield from table_defects(part)
        yield from field_defects(part)
        for check in _CHECKS.get(part.struct, ()):
            yield from check(part)
