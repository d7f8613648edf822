"""Good practices: nothing here keeps a bundle from working."""

import base64
import gzip
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1 import dns
from rukpak_py.formats.registry_v1.bundle import Document, Json
from rukpak_py.formats.registry_v1.kinds import DEFINITION
from rukpak_py.formats.registry_v1.metadata.annotations import CHANNELS, PACKAGE
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import (
    csvs,
    entries,
    is_semantic,
    mapping,
    name_of,
    of_kind,
    text,
    texts,
)
from rukpak_py.formats.registry_v1.rules.layout import bundle_annotations
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Reading] = Family(title="Good practices", origin="operator-framework/api")

_CHANNEL_PREFIXES: Final = ("candidate", "fast", "stable")
_MOST_BYTES: Final = 1 << 20  # of a bundle in a ConfigMap, as OLM unpacks it
_IMAGE: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?/|\[[0-9a-fA-F:]+\](?::\d+)?/)?"
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][\w+.-]*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


@FAMILY.rule(
    "RV1-702",
    severity=Severity.WARNING,
    title="Containers request CPU and memory",
    hint="Set `resources.requests` with `cpu` and `memory`: the scheduler needs them, and quotas may demand them.",
)
def containers_request_resources(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, deployment in entries(csv.manifest, "spec", "install", "spec", "deployments"):
            for below, container in entries(deployment, "spec", "template", "spec", "containers"):
                requests = mapping(container, "resources", "requests")
                if not {"cpu", "memory"} <= requests.keys():
                    name = text(container, "name")
                    message = f"unable to find the resource requests for the container: ({name})"
                    yield Problem(message=message, place=csv.place(*path, *below))


@FAMILY.rule(
    "RV1-703",
    severity=Severity.WARNING,
    title="Owned and required definitions are described",
    hint="Say in `description` what the API is for.",
)
def definitions_are_described(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for field in ("owned", "required"):
            for path, entry in entries(csv.manifest, "spec", "customresourcedefinitions", field):
                if not text(entry, "description"):
                    message = f'{field} CRD "{text(entry, "name")}" has an empty description'
                    yield Problem(message=message, place=csv.place(*path))


@FAMILY.rule(
    "RV1-704",
    severity=Severity.WARNING,
    title="Channels are named after their stability",
    hint="Let names begin with `candidate`, `fast` or `stable`: `stable-v1`.",
)
def channels_follow_the_convention(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    if annotations is None or not annotations.values.get(CHANNELS):
        return
    odd = [name for name in annotations.values[CHANNELS].split(",") if not name.strip().startswith(_CHANNEL_PREFIXES)]
    if odd:
        shown = " ".join(f'"{name}"' for name in odd)
        message = f"channel(s) [{shown}] are not following the recommended naming convention"
        yield Problem(message=message, place=annotations.place(CHANNELS))


@FAMILY.rule(
    "RV1-705",
    severity=Severity.WARNING,
    title="The CSV cannot create definitions",
    hint="Ship definitions in the bundle; an operator that creates them cannot be upgraded or removed cleanly.",
)
def definitions_are_not_created(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for field in ("permissions", "clusterPermissions"):
            for path, permission in entries(csv.manifest, "spec", "install", "spec", field):
                for below, rule in entries(permission, "rules"):
                    if _creates_definitions(rule):
                        message = "CSV contains permissions to create CRD"
                        yield Problem(message=message, place=csv.place(*path, *below))


def _creates_definitions(rule: Json) -> bool:
    return (
        "apiextensions.k8s.io" in texts(rule, "apiGroups")
        and not {"*", "customresourcedefinitions"}.isdisjoint(texts(rule, "resources"))
        and not {"*", "create"}.isdisjoint(texts(rule, "verbs"))
    )


@FAMILY.rule(
    "RV1-706",
    severity=Severity.WARNING,
    title="The CSV's name is <operator>.v<version>",
    hint="Name the CSV after its package and version: `memcached-operator.v0.0.1`.",
)
def the_name_follows_the_convention(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        operator, _, version = name_of(csv).partition(".v")
        if not operator or dns.label(operator) or not is_semantic(version):
            message = f"csv.metadata.Name {name_of(csv)} is not following the recommended naming convention"
            yield Problem(message=message, place=csv.place("metadata", on_key=True))


@FAMILY.rule(
    "RV1-707",
    severity=Severity.WARNING,
    title="With a release, the CSV's name is <package>-v<version>-<release>",
    hint="Rename the CSV, or remove `spec.release`.",
)
def the_name_holds_the_release(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    for csv in csvs(reading):
        release, version = text(csv.manifest, "spec", "release"), text(csv.manifest, "spec", "version")
        if release and annotations is not None:
            expected = f"{annotations.values.get(PACKAGE, '')}-v{version}-{release}"
            if name_of(csv) != expected:
                message = (
                    f'bundle name with release versioning "{name_of(csv)}" does not match expected name "{expected}"'
                )
                yield Problem(message=message, place=csv.place("metadata", "name"))


@FAMILY.rule(
    "RV1-708",
    severity=Severity.WARNING,
    title="Related images are image references",
    hint="Write the reference with its registry, best by digest: `registry.example.com/team/image@sha256:…`.",
)
def related_images_are_references(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, related in entries(csv.manifest, "spec", "relatedImages"):
            image, index = text(related, "image"), path[-1]
            if not image:
                yield Problem(message=f"relatedImages[{index}] has an empty image field", place=csv.place(*path))
            elif not _IMAGE.fullmatch(image):
                message = f'relatedImages[{index}] has an invalid image pullspec "{image}"'
                yield Problem(message=message, place=csv.place(*path, "image"))


@FAMILY.rule(
    "RV1-709",
    severity=Severity.WARNING,
    title="An API is defined once",
    hint="Keep one CRD for each group, version and kind.",
)
def apis_are_defined_once(reading: Reading) -> Iterator[Problem]:
    counted: Counter[str] = Counter()
    for document in of_kind(reading, DEFINITION):
        for api in _apis(document):
            counted[api] += 1
            if counted[api] == 2:
                yield Problem(message=f'duplicate CRD "{api}" in bundle', place=document.place("metadata", "name"))


def _apis(document: Document) -> Iterator[str]:
    group, kind = text(document.manifest, "spec", "group"), text(document.manifest, "spec", "names", "kind")
    for version in dict.fromkeys(
        text(version, "name") for _, version in entries(document.manifest, "spec", "versions")
    ):
        yield f"{group}/{version}, Kind={kind}"


@FAMILY.rule(
    "RV1-710",
    severity=Severity.WARNING,
    title="A bundle, compressed, fits into a ConfigMap",
    hint="Shorten descriptions in CRDs or leave out what the operator can create itself: OLM unpacks bundles into "
    "ConfigMaps of at most 1 MiB. rukpak has no such limit.",
)
def the_bundle_is_small(reading: Reading) -> Iterator[Problem]:
    files = [reading.tree[path] for path in reading.tree if path.startswith(("manifests/", "metadata/"))]
    size = sum(len(base64.b64encode(gzip.compress(data))) for data in files)
    if size > _MOST_BYTES:
        message = f"maximum bundle compressed size with gzip size exceeded: size=~{size}, max={_MOST_BYTES}"
        yield Problem(message=message)
    elif size > _MOST_BYTES * 85 // 100:
        yield Problem(message=f"nearing maximum bundle compressed size with gzip: size=~{size}, max={_MOST_BYTES}")
