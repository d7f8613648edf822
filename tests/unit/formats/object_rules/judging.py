"""Objects as the rules of all objects judge them."""

from typing import Any

from rukpak_py.core.findings import Finding
from rukpak_py.formats.documents import Document
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.object_rules.rules import FAMILIES
from rukpak_py.formats.rules import Locator, judge

Json = dict[str, Any]


def findings_of(*manifests: Json, title: str = "") -> list[Finding]:
    judged = Judged()
    for index, manifest in enumerate(manifests):
        judged.add(Document(file="a.yaml", index=index, manifest=manifest), title=title)
    return list(judge(FAMILIES, judged, Locator({})))


def told(rule: str, *manifests: Json) -> list[str]:
    """Messages of a rule."""
    return [one.message for one in findings_of(*manifests) if one.rule == rule]


def deployment(pod: Json, name: str = "demo", namespace: str = "") -> Json:
    """A Deployment whose pods have the label `app`, its name."""
    labels = {"app": name}
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def manifest(kind: str, name: str, api_version: str = "v1", namespace: str = "", **fields: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
