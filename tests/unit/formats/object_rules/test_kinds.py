"""Kinds and versions of the API server's own groups: which exist, and which were removed."""

import pytest

from rukpak_py.formats.object_rules.kinds import KindDefect, kind_defect


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
    ],
)
def test_removed_version_names_what_took_its_place(api_version: str, kind: str, since: str, instead: str) -> None:
    defect = found(api_version, kind)
    assert defect is not None
    assert defect.is_removed
    assert defect.message == f"{kind} of {api_version} was removed from Kubernetes {since}"
    assert defect.hint == (f"Write `apiVersion: {instead}`." if instead else "")
