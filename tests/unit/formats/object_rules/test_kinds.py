"""Kinds and versions of the API server's own groups: which exist, and which were removed."""

import pytest

from rukpak_py.core.findings import Fix, Severity
from rukpak_py.formats.object_rules.kinds import KindDefect, kind_defect
from tests.unit.formats.object_rules.judging import findings_of, manifest


def found(api_version: str, kind: str) -> KindDefect | None:
    return kind_defect({"apiVersion": api_version, "kind": kind})


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "Node"),
        ("v1", "ConfigMapList"),
        ("apps/v1", "Deployment"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("coordination.k8s.io/v1", "Lease"),
        ("resource.k8s.io/v1beta1", "DeviceClass"),
        ("networking.k8s.io/v1beta1", "ServiceCIDR"),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
        ("example.com/v1", "Deploymnet"),
        ("", "Deployment"),
    ],
)
def test_kind_that_exists_or_is_of_a_group_of_others_has_no_defect(api_version: str, kind: str) -> None:
    assert found(api_version, kind) is None


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("apps/v1", "Deploymnet", "Did you mean `kind: Deployment`?"),
        ("v1", "configmap", "Did you mean `kind: ConfigMap`?"),
        ("v1", "confgimap", "Did you mean `kind: ConfigMap`?"),
        ("v1", "Deployment", "Write `apiVersion: apps/v1`."),
        ("networking/v1", "Ingress", "Write `apiVersion: networking.k8s.io/v1`."),
        ("apps/v2", "StatefulSet", "Write `apiVersion: apps/v1`."),
    ],
)
def test_kind_that_does_not_exist_comes_with_advice(api_version: str, kind: str, hint: str) -> None:
    defect = found(api_version, kind)
    assert defect is not None
    assert (defect.hint, defect.is_removed) == (hint, False)


@pytest.mark.parametrize(
    ("api_version", "kind", "severity"),
    [
        ("scheduling.k8s.io/v1alpha1", "Workload", Severity.WARNING),  # of Kubernetes 1.35 alone
        ("resource.k8s.io/v1alpha3", "ResourceClaim", Severity.WARNING),  # until 1.33
        ("resource.k8s.io/v1", "ResourceClaims", Severity.ERROR),
        ("apps/v2", "Deployment", Severity.ERROR),
    ],
)
def test_alpha_version_that_another_kubernetes_may_serve_is_a_warning(
    api_version: str, kind: str, severity: Severity
) -> None:
    found = findings_of(manifest(kind, "one", api_version))
    assert [one.severity for one in found if one.rule == "OBJ-010"] == [severity]


@pytest.mark.parametrize(
    ("api_version", "kind", "since", "instead"),
    [
        ("rbac.authorization.k8s.io/v1beta1", "Role", "1.22", "rbac.authorization.k8s.io/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "1.25", "policy/v1"),
        ("policy/v1beta1", "PodSecurityPolicy", "1.25", ""),
        ("extensions/v1beta1", "Ingress", "1.22", "networking.k8s.io/v1"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "1.22", "apiextensions.k8s.io/v1"),
        ("batch/v1beta1", "CronJob", "1.25", "batch/v1"),
        ("networking.k8s.io/v1beta1", "Ingress", "1.22", "networking.k8s.io/v1"),
        ("networking.k8s.io/v1beta1", "IngressClass", "1.22", "networking.k8s.io/v1"),
        ("storage.k8s.io/v1beta1", "StorageClass", "1.22", "storage.k8s.io/v1"),
        ("node.k8s.io/v1beta1", "RuntimeClass", "1.25", "node.k8s.io/v1"),
        ("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema", "1.29", "flowcontrol.apiserver.k8s.io/v1"),
        ("certificates.k8s.io/v1beta1", "CertificateSigningRequest", "1.22", "certificates.k8s.io/v1"),
        ("batch/v2alpha1", "CronJob", "1.21", "batch/v1"),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler", "1.25", "autoscaling/v2"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26", "autoscaling/v2"),
        ("coordination.k8s.io/v1beta1", "Lease", "1.22", "coordination.k8s.io/v1"),
    ],
)
def test_removed_version_names_what_took_its_place(api_version: str, kind: str, since: str, instead: str) -> None:
    defect = found(api_version, kind)
    assert defect is not None
    assert defect.is_removed
    assert defect.message == f"{kind} of {api_version} was removed from Kubernetes {since}"
    assert defect.hint == (f"Write `apiVersion: {instead}`." if instead else "")


@pytest.mark.parametrize(
    ("api_version", "kind", "right"),
    [
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "autoscaling/v2"),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler", ""),  # with other fields
        ("batch/v1beta1", "CronJob", "batch/v1"),
        ("coordination.k8s.io/v1beta1", "Lease", "coordination.k8s.io/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", ""),  # an empty selector has another meaning
    ],
)
def test_removed_version_is_corrected_where_the_fields_are_the_same(api_version: str, kind: str, right: str) -> None:
    defect = found(api_version, kind)
    assert defect is not None
    assert defect.fix == (Fix(text=right) if right else None)
