"""Marks that other tools leave on what they manage; an object with such a mark is theirs, whoever controls it.

The first mark that is there names the tool: Flux installs charts with Helm's marks beside its own.
"""

from collections.abc import Callable, Mapping

from rukpak_py.api.names import HELM_RELEASE_ANNOTATION, HELM_RELEASE_NAMESPACE_ANNOTATION, MANAGED_BY_LABEL

OUR_NAMES = frozenset({"rukpak", "rukpak-operator"})  # values of the label `managed-by` that mean us

Marks = Mapping[str, str]


def other_tool(labels: Marks, annotations: Marks) -> str:
    """Which other tool manages an object with these labels and annotations, as a message names it; empty: none."""
    return next((text for mark in _MARKS if (text := mark(labels, annotations))), "")


def _flux(controller: str, kind: str) -> Callable[[Marks, Marks], str]:
    name_label, namespace_label = f"{controller}.toolkit.fluxcd.io/name", f"{controller}.toolkit.fluxcd.io/namespace"

    def mark(labels: Marks, _annotations: Marks) -> str:
        name = labels.get(name_label, "")
        return f"Flux ({kind} {_place(labels.get(namespace_label, ''), name)})" if name else ""

    return mark


def _argo(labels: Marks, annotations: Marks) -> str:
    application = (
        annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0]
        or annotations.get("argocd.argoproj.io/instance", "")
        or labels.get("argocd.argoproj.io/instance", "")
    )
    return f"Argo CD (application {application})" if application else ""


def _helm(_labels: Marks, annotations: Marks) -> str:
    release = annotations.get(HELM_RELEASE_ANNOTATION, "")
    namespace = annotations.get(HELM_RELEASE_NAMESPACE_ANNOTATION, "")
    return f"Helm (release {_place(namespace, release)})" if release else ""


def _managed_by(labels: Marks, _annotations: Marks) -> str:
    value = labels.get(MANAGED_BY_LABEL, "")
    return f'"{value}" (label {MANAGED_BY_LABEL})' if value and value not in OUR_NAMES else ""


def _place(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


_MARKS = (_flux("kustomize", "Kustomization"), _flux("helm", "HelmRelease"), _argo, _helm, _managed_by)
