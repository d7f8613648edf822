"""The other tool that an object belongs to, as the message names it."""

import pytest

from rukpak_py.api.names import OWNER_UID_ANNOTATION
from rukpak_py.apply.marks import other_tool
from tests.unit.apply.lives import OUR_LABELS, OWNER, REPLICA_SET, live, owned

HELM = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
BY_HELM = {"app.kubernetes.io/managed-by": "Helm"}
MARKS: list[tuple[dict[str, str], dict[str, str], str]] = [
    ({}, {}, ""),
    ({"app.kubernetes.io/managed-by": ""}, {}, ""),
    ({"app.kubernetes.io/managed-by": "rukpak-operator"}, {}, ""),
    ({"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web"}, {"checksum": "1"}, ""),
    (BY_HELM, {}, '"Helm" (label app.kubernetes.io/managed-by)'),
    ({"app.kubernetes.io/managed-by": "kustomize"}, {}, '"kustomize" (label app.kubernetes.io/managed-by)'),
    (BY_HELM, HELM, "Helm (release shop/web)"),
    ({}, {"meta.helm.sh/release-name": "web"}, "Helm (release web)"),
    (
        {"kustomize.toolkit.fluxcd.io/name": "web", "kustomize.toolkit.fluxcd.io/namespace": "shop"},
        {},
        "Flux (Kustomization shop/web)",
    ),
    (
        {**BY_HELM, "helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop"},
        HELM,
        "Flux (HelmRelease shop/web)",
    ),
    ({}, {"argocd.argoproj.io/tracking-id": "web:apps/Deployment:shop/web"}, "Argo CD (application web)"),
    ({"argocd.argoproj.io/instance": "web"}, {}, "Argo CD (application web)"),
    ({}, {"argocd.argoproj.io/instance": "web"}, "Argo CD (application web)"),
]


@pytest.mark.parametrize(("labels", "annotations", "named"), MARKS)
def test_the_tool_that_manages_an_object(labels: dict[str, str], annotations: dict[str, str], named: str) -> None:
    assert other_tool(labels, annotations) == named


def test_marks_count_only_where_nothing_else_says_whose_it_is() -> None:
    """Content may bring such a label itself."""
    assert live(labels=BY_HELM).other_tool
    assert not live(**owned(labels={**OUR_LABELS, **BY_HELM})).other_tool
    assert not live(labels={**OUR_LABELS, **BY_HELM}).other_tool
    assert not live(labels=BY_HELM, ownerReferences=[REPLICA_SET]).other_tool


def test_only_helms_release_of_our_name_under_our_labels_is_the_original_operators() -> None:
    release = {"meta.helm.sh/release-name": OWNER.name}
    assert live(labels=OUR_LABELS, annotations=release).is_from_upstream
    assert live(**owned(annotations={**release, "core.rukpak.io/applied": ""})).is_from_upstream
    assert not live(labels=OUR_LABELS).is_from_upstream
    assert not live(annotations=release).is_from_upstream
    assert not live(labels=OUR_LABELS, annotations=HELM).is_from_upstream, "somebody's chart with our labels in it"
    ours = {"core.rukpak.io/applied": "sha256:1", OWNER_UID_ANNOTATION: OWNER.uid}
    assert not live(labels=OUR_LABELS, annotations={**release, **ours}).is_from_upstream, "taken already"
