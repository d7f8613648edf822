"""Objects that meet on one name: the same twice is one object, different ones are a defect of the bundle.

Names are compared as they will be in the cluster: the install namespace replaces what namespaced objects say.
"""

from collections.abc import Iterator
from typing import Any

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.core.objects import canonical_json
from rukpak_py.formats.documents import Document
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.kinds import AUTOSCALER, SUPPORTED
from rukpak_py.formats.registry_v1.made_names import service_name
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[RegistryBundle] = Family(title="Objects of one name", origin="rukpak-py")


@FAMILY.rule(
    "RV1-913",
    title="Objects of one name are equal",
    hint="Remove one of them, or rename it. Namespaces do not tell them apart: both go to the install namespace.",
    error_only_in=Profile.DEFAULT,
)
def objects_of_one_name_are_equal(bundle: RegistryBundle) -> Iterator[Problem]:
    for first, again in _repeated(bundle):
        if _in_cluster(first) != _in_cluster(again):
            yield Problem(
                message=f"{again.kind} '{again.name}' is defined differently in {first.file} and in {again.file}",
                place=again.place("metadata", "name"),
            )


@FAMILY.rule(
    "RV1-914",
    title="No object is there twice",
    hint="Remove the repetition.",
    severity=Severity.WARNING,
)
def objects_are_there_once(bundle: RegistryBundle) -> Iterator[Problem]:
    for first, again in _repeated(bundle):
        if _in_cluster(first) == _in_cluster(again):
            yield Problem(
                message=f"{again.kind} '{again.name}' is in {first.file} and in {again.file}: one is emitted",
                place=again.place("metadata", "name"),
            )


@FAMILY.rule(
    "RV1-936",
    title="Deployments that serve webhooks have Services of their own",
    hint="Rename one of the deployments: dots count as `-` in the name of its Service, and only the first 55 "
    "characters count.",
    error_only_in=Profile.DEFAULT,
)
def services_are_distinct(bundle: RegistryBundle) -> Iterator[Problem]:
    serving = {webhook.deployment_name for webhook in bundle.csv.webhooks}
    first: dict[str, str] = {}
    for entry in bundle.csv.deployments:
        service = service_name(entry.name)
        if entry.name in serving and first.setdefault(service, entry.name) != entry.name:
            yield Problem(
                message=(
                    f"the webhooks of deployments '{first[service]}' and '{entry.name}' want the same "
                    f"Service '{service}'"
                ),
                place=bundle.csv.document.place(*entry.path, "name"),
            )


def _repeated(bundle: RegistryBundle) -> Iterator[tuple[Document, Document]]:
    """Each further object with the first one of its name."""
    seen: dict[tuple[str, ...], Document] = {}
    for document in bundle.others:
        if document.name:
            namespace = ""  # the install namespace, or none: it does not tell objects of one name apart
            if document.kind == AUTOSCALER or not SUPPORTED.get(document.kind, False):
                namespace = str(_metadata(document).get("namespace") or "")
            identity = (document.api_version, document.kind, namespace, document.name)
            first = seen.setdefault(identity, document)
            if first is not document:
                yield first, document


def _in_cluster(document: Document) -> bytes:
    metadata = {key: value for key, value in _metadata(document).items() if key != "namespace"}
    return canonical_json({**document.manifest, "metadata": metadata})


def _metadata(document: Document) -> dict[str, Any]:
    return document.manifest.get("metadata") or {}
