"""The order in which objects are applied."""

import pytest

from rukpak_py.apply.order import ApplyPhase, is_builtin, phase_of
from rukpak_py.core.objects import GroupVersionKind

RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"


@pytest.mark.parametrize(
    ("api_version", "kind", "phase"),
    [
        ("v1", "Namespace", ApplyPhase.NAMESPACES),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", ApplyPhase.CRDS),
        ("v1", "ServiceAccount", ApplyPhase.ACCOUNTS),
        (RBAC, "Role", ApplyPhase.ROLES),
        (RBAC, "ClusterRole", ApplyPhase.ROLES),
        (RBAC, "RoleBinding", ApplyPhase.BINDINGS),
        (RBAC, "ClusterRoleBinding", ApplyPhase.BINDINGS),
        ("v1", "ConfigMap", ApplyPhase.CONFIG),
        ("v1", "Secret", ApplyPhase.CONFIG),
        ("networking.k8s.io/v1", "NetworkPolicy", ApplyPhase.CONFIG),
        ("scheduling.k8s.io/v1", "PriorityClass", ApplyPhase.CONFIG),
        ("a.built.in/v1", "Shop", ApplyPhase.CUSTOM_RESOURCES),
        ("v1", "SomethingNew", ApplyPhase.CONFIG),
        ("storage.k8s.io/v1", "StorageClass", ApplyPhase.STORAGE),
        ("v1", "PersistentVolumeClaim", ApplyPhase.STORAGE),
        ("v1", "Service", ApplyPhase.SERVICES),
        ("networking.k8s.io/v1", "Ingress", ApplyPhase.SERVICES),
        ("apps/v1", "Deployment", ApplyPhase.WORKLOADS),
        ("batch/v1", "CronJob", ApplyPhase.WORKLOADS),
        ("autoscaling/v2", "HorizontalPodAutoscaler", ApplyPhase.WORKLOADS),
        (ADMISSION, "ValidatingWebhookConfiguration", ApplyPhase.WEBHOOKS),
        (ADMISSION, "ValidatingAdmissionPolicy", ApplyPhase.WEBHOOKS),
        ("apiregistration.k8s.io/v1", "APIService", ApplyPhase.API_SERVICES),
        ("metrics.k8s.io/v1", "NodeMetrics", ApplyPhase.CUSTOM_RESOURCES),
        ("gateway.networking.k8s.io/v1", "Gateway", ApplyPhase.CUSTOM_RESOURCES),
    ],
)
def test_the_phase_of_a_kind(api_version: str, kind: str, phase: ApplyPhase) -> None:
    assert phase_of(GroupVersionKind.parse(api_version, kind), custom=False) is phase


def test_custom_resource_comes_last_whatever_its_group() -> None:
    gvk = GroupVersionKind("networking.k8s.io", "v1", "Ingress")
    assert phase_of(gvk, custom=True) is ApplyPhase.CUSTOM_RESOURCES


def test_the_phases_are_in_the_order_of_the_design() -> None:
    assert [phase.name for phase in sorted(ApplyPhase)] == [
        "NAMESPACES",
        "CRDS",
        "ACCOUNTS",
        "ROLES",
        "BINDINGS",
        "CONFIG",
        "STORAGE",
        "SERVICES",
        "WORKLOADS",
        "WEBHOOKS",
        "API_SERVICES",
        "CUSTOM_RESOURCES",
    ]


@pytest.mark.parametrize(
    "group", ["", "apps", "batch", "policy", "autoscaling", "networking.k8s.io", "storage.k8s.io", "resource.k8s.io"]
)
def test_groups_that_the_server_itself_serves(group: str) -> None:
    assert is_builtin(group)


@pytest.mark.parametrize(
    "group",
    [
        "core.rukpak.io",
        "cert-manager.io",
        "gateway.networking.k8s.io",
        "policy.networking.k8s.io",
        "snapshot.storage.k8s.io",
        "metrics.k8s.io",
        "cluster.x-k8s.io",
    ],
)
def test_groups_of_crds_and_aggregated_servers(group: str) -> None:
    assert not is_builtin(group)
