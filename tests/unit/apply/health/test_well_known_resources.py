"""Custom resources that the condition Ready alone says too little, or too much, about."""

from typing import Any

import pytest

from rukpak_py.apply.health import Health, HealthStatus, judge
from rukpak_py.apply.health.rules import ROUTES, RULES
from rukpak_py.core.objects import GroupKind

HEALTHY = Health(HealthStatus.CURRENT, "Resource is current")
GONE = Health(HealthStatus.TERMINATING, "Resource scheduled for deletion")


def in_progress(message: str) -> Health:
    return Health(HealthStatus.IN_PROGRESS, message)


def failed(message: str) -> Health:
    return Health(HealthStatus.FAILED, message)


def told(**conditions: str | tuple[str, ...]) -> dict[str, Any]:
    """A status with conditions: the status of each, or status, reason and message."""
    found = []
    for kind, words in conditions.items():
        status, reason, message = (*((words,) if isinstance(words, str) else words), "", "")[:3]
        found.append({"type": kind, "status": status, "reason": reason, "message": message})
    return {"conditions": found}


def resource(kind: str, status: Any = None, spec: Any = None, **metadata: Any) -> dict[str, Any]:
    name, _, group = kind.partition(".")
    head = {"apiVersion": f"{group}/v1", "kind": name, "metadata": {"name": "x", **metadata}}
    return {**head, "spec": spec or {}, "status": status}


CERTIFICATE = "Certificate.cert-manager.io"
HELM_RELEASE = "HelmRelease.helm.toolkit.fluxcd.io"
ROLLOUT = "Rollout.argoproj.io"
PROMETHEUS = "Prometheus.monitoring.coreos.com"
KAFKA = "Kafka.kafka.strimzi.io"
CLUSTER = "Cluster.cluster.x-k8s.io"
SUBSCRIPTION = "Subscription.operators.coreos.com"
CSV = "ClusterServiceVersion.operators.coreos.com"
SCALED = "ScaledObject.keda.sh"
ELASTIC = "Elasticsearch.elasticsearch.k8s.elastic.co"
GATEWAY = "Gateway.gateway.networking.k8s.io"
ROUTE = "HTTPRoute.gateway.networking.k8s.io"
KNATIVE = "Service.serving.knative.dev"
BUCKET = "Bucket.s3.aws.upbound.io"
MACHINE = "VirtualMachine.kubevirt.io"
EXTENSION = "ClusterExtension.olm.operatorframework.io"
ROUTED = {"parentRefs": [{"name": "web"}]}
BEHIND = {"observedGeneration": 1, **told(Ready="False")}


def parent(**conditions: str | tuple[str, ...]) -> dict[str, Any]:
    return {"parents": [{"parentRef": {"name": "web"}, **told(**conditions)}]}


@pytest.mark.parametrize(
    ("obj", "health"),
    [
        (resource(CERTIFICATE), in_progress("the condition Ready is not reported yet")),
        (resource(CERTIFICATE, told(Ready="True")), HEALTHY),
        (resource(CERTIFICATE, told(Ready="True", Issuing="True")), HEALTHY),
        (
            resource(CERTIFICATE, told(Ready=("False", "DoesNotExist", "no Secret"))),
            in_progress("Ready is False: DoesNotExist: no Secret"),
        ),
        (resource("ClusterIssuer.cert-manager.io", told(Ready="Unknown")), in_progress("Ready is Unknown")),
        (
            resource("CertificateRequest.cert-manager.io", told(Ready="False", Denied=("True", "Policy", "not ours"))),
            failed("Denied is True: Policy: not ours"),
        ),
        (resource("ExternalSecret.external-secrets.io"), in_progress("the condition Ready is not reported yet")),
        (
            resource("ExternalSecret.external-secrets.io", told(Ready=("False", "SecretSyncedError", "no such key"))),
            in_progress("Ready is False: SecretSyncedError: no such key"),
        ),
        (resource("SealedSecret.bitnami.com", told(Synced="True")), HEALTHY),
        (resource(HELM_RELEASE), in_progress("the condition Ready is not reported yet")),
        (resource(HELM_RELEASE, told(Ready="False")), in_progress("Ready is False")),
        (resource(HELM_RELEASE, BEHIND, {"suspend": True}, generation=2), HEALTHY),
        (resource(HELM_RELEASE, BEHIND, {"suspend": "yes"}, generation=1), in_progress("Ready is False")),
        (resource(HELM_RELEASE, BEHIND, {"suspend": True}, deletionTimestamp="2026-01-01T00:00:00Z"), GONE),
        (resource(HELM_RELEASE, told(Stalled=("True", "", "retries exhausted"))), failed("retries exhausted")),
        (resource("HelmRepository.source.toolkit.fluxcd.io", None, {"type": "oci"}), HEALTHY),
        (resource("GitRepository.source.toolkit.fluxcd.io"), in_progress("the condition Ready is not reported yet")),
        (resource("Alert.notification.toolkit.fluxcd.io"), HEALTHY),
        (resource(ROLLOUT), in_progress("status.phase is not reported yet")),
        (resource(ROLLOUT, {"phase": "Healthy", "observedGeneration": "3"}, generation=3), HEALTHY),
        (
            resource(ROLLOUT, {"phase": "Healthy", "observedGeneration": "2"}, generation=3),
            in_progress("Rollout generation is 3, but latest observed generation is 2"),
        ),
        (
            resource(ROLLOUT, {"phase": "Degraded", "message": "RolloutAborted"}),
            failed("status.phase is Degraded: RolloutAborted"),
        ),
        (
            resource(ROLLOUT, {"phase": "Paused", "message": "CanaryPauseStep"}),
            in_progress("status.phase is Paused: CanaryPauseStep"),
        ),
        (resource(ROLLOUT, {"phase": "Paused"}, {"paused": True}), HEALTHY),
        (resource("Application.argoproj.io", {"health": {"status": "Suspended"}}), HEALTHY),
        (
            resource("Application.argoproj.io", {"health": {"status": "Degraded", "message": "web"}}),
            failed("status.health.status is Degraded: web"),
        ),
        (resource("AppProject.argoproj.io"), HEALTHY),
        (resource(PROMETHEUS, told(Available="True", Reconciled="True")), HEALTHY),
        (
            resource(PROMETHEUS, told(Available=("Degraded", "SomePodsNotReady", "1/2"), Reconciled="True")),
            in_progress("Available is Degraded: SomePodsNotReady: 1/2"),
        ),
        (resource(PROMETHEUS, told(Available="True")), in_progress("the condition Reconciled is not reported yet")),
        (resource(PROMETHEUS, told(Reconciled="False"), {"paused": True}), HEALTHY),
        (resource("ServiceMonitor.monitoring.coreos.com"), HEALTHY),
        (resource(KAFKA, told(Ready="True", Warning="True")), HEALTHY),
        (
            resource(KAFKA, told(NotReady=("True", "Timeout", "pods not ready"))),
            in_progress("NotReady is True: Timeout: pods not ready"),
        ),
        (
            resource(KAFKA, told(ReconciliationPaused="True"), annotations={"strimzi.io/pause-reconciliation": "true"}),
            HEALTHY,
        ),
        (resource("KafkaRebalance.kafka.strimzi.io", told(ProposalReady="True")), HEALTHY),
        (resource("KafkaNodePool.kafka.strimzi.io"), HEALTHY),
        (resource(CLUSTER, told(Available="True", Ready="False")), HEALTHY),
        (
            resource(CLUSTER, told(Ready=("False", "", "no control plane"))),
            in_progress("Ready is False: no control plane"),
        ),
        (resource(CLUSTER), in_progress("the condition Available is not reported yet")),
        (resource(CLUSTER, BEHIND, {"paused": True}, generation=2), HEALTHY),
        (resource(CSV, {"phase": "Succeeded"}), HEALTHY),
        (resource(CSV, {"phase": "Installing", "message": "waits"}), in_progress("status.phase is Installing: waits")),
        (resource(CSV, {"phase": "Failed", "message": "no rights"}), failed("status.phase is Failed: no rights")),
        (resource(SUBSCRIPTION, {"state": "AtLatestKnown"}), HEALTHY),
        (resource(SUBSCRIPTION, {"state": "UpgradePending"}), in_progress("status.state is UpgradePending")),
        (
            resource(
                SUBSCRIPTION, {"state": "UpgradePending", "installedCSV": "a.v1"}, {"installPlanApproval": "Manual"}
            ),
            HEALTHY,
        ),
        (
            resource(SUBSCRIPTION, {"state": "UpgradePending"}, {"installPlanApproval": "Manual"}),
            in_progress("status.state is UpgradePending"),
        ),
        (
            resource(SUBSCRIPTION, told(ResolutionFailed=("True", "", "no package")) | {"state": "AtLatestKnown"}),
            in_progress("ResolutionFailed is True: no package"),
        ),
        (resource("OperatorGroup.operators.coreos.com"), HEALTHY),
        (resource(EXTENSION, told(Progressing="True", Installed="True")), HEALTHY),
        (resource(SCALED, told(Ready="True", Active="False", Fallback="False", Paused="False")), HEALTHY),
        (resource(SCALED, told(Ready=("False", "", "no target"))), in_progress("Ready is False: no target")),
        (resource(SCALED, told(Ready="Unknown"), annotations={"autoscaling.keda.sh/paused": "true"}), HEALTHY),
        (resource("TriggerAuthentication.keda.sh"), HEALTHY),
        (resource(ELASTIC, {"health": "yellow", "phase": "Ready"}), HEALTHY),
        (resource(ELASTIC, {"health": "red"}), in_progress("status.health is red")),
        (resource("Kibana.kibana.k8s.elastic.co", {"health": "yellow"}), in_progress("status.health is yellow")),
        (
            resource(GATEWAY, told(Accepted="True", Programmed=("False", "AddressNotAssigned", "no address"))),
            in_progress("Programmed is False: AddressNotAssigned: no address"),
        ),
        (resource(GATEWAY, told(Accepted="True", Programmed="True")), HEALTHY),
        (resource(ROUTE), HEALTHY),
        (resource(ROUTE, None, ROUTED), in_progress("no Gateway has accepted the route yet")),
        (resource(ROUTE, parent(Accepted="True", ResolvedRefs="True"), ROUTED), HEALTHY),
        (
            resource(ROUTE, parent(Accepted="True", ResolvedRefs=("False", "BackendNotFound", "web")), ROUTED),
            in_progress("Gateway web: ResolvedRefs is False: BackendNotFound: web"),
        ),
        (resource(KNATIVE, told(Ready="Unknown")), in_progress("Ready is Unknown")),
        (
            resource(KNATIVE, told(Ready=("False", "RevisionFailed", "no image"))),
            failed("Ready is False: RevisionFailed: no image"),
        ),
        (
            resource("TaskRun.tekton.dev", told(Succeeded=("False", "Failed", "exit 1"))),
            failed("Succeeded is False: Failed: exit 1"),
        ),
        (resource("ProviderConfig.aws.upbound.io"), HEALTHY),
        (
            resource(BUCKET, told(Ready="True", Synced=("False", "ReconcileError", "denied"))),
            in_progress("Synced is False: ReconcileError: denied"),
        ),
        (resource(BUCKET, told(Synced="False"), annotations={"crossplane.io/paused": "true"}), HEALTHY),
        (
            resource("Provider.pkg.crossplane.io", told(Installed="True")),
            in_progress("the condition Healthy is not reported yet"),
        ),
        (resource("CompositeResourceDefinition.apiextensions.crossplane.io", told(Established="True")), HEALTHY),
        (resource(MACHINE, told(Ready="False"), {"runStrategy": "Halted"}), HEALTHY),
        (resource(MACHINE, told(Ready="False"), {"running": False}), HEALTHY),
        (resource(MACHINE, told(Ready="False"), {"running": True}), in_progress("Ready is False")),
        (resource("DataVolume.cdi.kubevirt.io", {"phase": "WaitForFirstConsumer"}), HEALTHY),
        (resource("VolumeSnapshot.snapshot.storage.k8s.io", {"readyToUse": True}), HEALTHY),
        (
            resource("VolumeSnapshot.snapshot.storage.k8s.io", {"readyToUse": False, "error": {"message": "no class"}}),
            in_progress("status.readyToUse is false: no class"),
        ),
        (resource("ConstraintTemplate.templates.gatekeeper.sh", {"created": True}), HEALTHY),
        (
            resource(
                "RabbitmqCluster.rabbitmq.com",
                told(AllReplicasReady="True", ReconcileSuccess="True", NoWarnings="False"),
            ),
            HEALTHY,
        ),
        (resource("postgresql.acid.zalan.do", {"PostgresClusterStatus": "Running"}), HEALTHY),
        (resource("CephCluster.ceph.rook.io", {"phase": ["Ready"]}), in_progress("status.phase is not a string")),
    ],
)
def test_well_known_resources_are_judged_by_their_own_words(obj: dict[str, Any], health: Health) -> None:
    assert judge(obj) == health


@pytest.mark.parametrize("kind", sorted(RULES), ids=str)
def test_every_rule_can_be_met_and_waits_before_anything_is_reported(kind: GroupKind) -> None:
    rule = RULES[kind]
    status: dict[str, Any] = told(**{types.split("|")[0]: "True" for types in rule.wanted})
    if rule.phase is not None:
        *parents, last = rule.phase.path.split(".")[1:]
        holder = status
        for parent_of in parents:
            holder = holder.setdefault(parent_of, {})
        holder[last] = next(iter(rule.phase.healthy))
    name = f"{kind.kind}.{kind.group}"
    assert judge(resource(name, status)) == HEALTHY
    assert judge(resource(name)).is_healthy is rule.is_optional


def test_no_kind_has_two_rules() -> None:
    assert not ROUTES & RULES.keys()
