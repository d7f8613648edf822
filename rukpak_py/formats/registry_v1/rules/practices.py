"""Good practices: nothing here keeps a bundle from working."""

import base64
import gzip
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats import dns
from rukpak_py.formats.json_fields import Json, mapping, text, texts
from rukpak_py.formats.registry_v1.metadata.annotations import CHANNELS, PACKAGE
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import (
    RULES,
    EachOfCsv,
    add_rows,
    csvs,
    each,
    is_semantic,
    name_of,
)
from rukpak_py.formats.registry_v1.rules.layout import bundle_annotations
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Reading] = Family(title="Good practices", origin="operator-framework/api")

_CHANNEL_PREFIXES: Final = ("candidate", "fast", "stable")
_MOST_BYTES: Final = 1 << 20  # of a bundle in a ConfigMap, as OLM unpacks it


@FAMILY.rule(
    "RV1-703",
    severity=Severity.WARNING,
    title="Owned and required CRDs are described",
    hint="Say in `description` what the API is for.",
)
def definitions_are_described(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for field in ("owned", "required"):
            for path, entry in each(csv, f"spec.customresourcedefinitions.{field}[]"):
                if not text(entry, "description"):
                    message = f"the {field} CRD '{text(entry, 'name')}' has no description"
                    yield Problem(message=message, place=csv.place(*path))


@FAMILY.rule(
    "RV1-704",
    severity=Severity.WARNING,
    title="Channels are named after their stability",
    hint="Begin the name of a channel with `candidate`, `fast` or `stable`, as in `stable-v1`.",
)
def channels_follow_the_convention(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    if annotations is None or not annotations.values.get(CHANNELS):
        return
    odd = [name for name in annotations.values[CHANNELS].split(",") if not name.strip().startswith(_CHANNEL_PREFIXES)]
    if odd:
        message = f"these channels do not begin with {', '.join(_CHANNEL_PREFIXES)}: {', '.join(odd)}"
        yield Problem(message=message, place=annotations.place(CHANNELS))


@FAMILY.rule(
    "RV1-706",
    severity=Severity.WARNING,
    title="The CSV's name is `<operator>.v<version>`",
    hint="Name the CSV after its package and version: `memcached-operator.v0.0.1`.",
)
def the_name_follows_the_convention(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    package = annotations.values.get(PACKAGE) if annotations is not None else None
    for csv in csvs(reading):
        operator, _, version = name_of(csv).partition(".v")
        if not operator or dns.label(operator) or not is_semantic(version):
            message = f"the CSV's name '{name_of(csv)}' is not <operator>.v<version>"
            released = text(csv.manifest, "spec", "version")
            hint = f"Name the CSV `{package}.v{released}`." if package and is_semantic(released) else None
            yield Problem(message=message, place=csv.place("metadata", "name"), hint=hint)


@FAMILY.rule(
    "RV1-707",
    severity=Severity.WARNING,
    title="With a release, the CSV's name is `<package>-v<version>-<release>`",
    hint="Rename the CSV, or remove `spec.release`.",
)
def the_name_holds_the_release(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    for csv in csvs(reading):
        release, version = text(csv.manifest, "spec", "release"), text(csv.manifest, "spec", "version")
        if release and annotations is not None:
            expected = f"{annotations.values.get(PACKAGE, '')}-v{version}-{release}"
            if name_of(csv) != expected:
                message = f"the CSV's name '{name_of(csv)}' is not '{expected}', though it has a release"
                yield Problem(message=message, place=csv.place("metadata", "name"))


@FAMILY.rule(
    "RV1-710",
    severity=Severity.WARNING,
    title="A bundle, compressed, fits into a ConfigMap",
    hint="Shorten descriptions in CRDs, or leave out what the operator can create itself: OLM unpacks a bundle into a "
    "ConfigMap of at most 1 MiB. rukpak has no such limit.",
)
def the_bundle_is_small(reading: Reading) -> Iterator[Problem]:
    files = [reading.tree[path] for path in reading.tree if path.startswith(("manifests/", "metadata/"))]
    size = sum(len(base64.b64encode(gzip.compress(data))) for data in files)
    if size > _MOST_BYTES:
        yield Problem(message=f"the compressed bundle has {size} bytes, more than {_MOST_BYTES}")
    elif size > _MOST_BYTES * 85 // 100:
        yield Problem(message=f"the compressed bundle has {size} bytes, nearly {_MOST_BYTES}")


def _not_requested(container: Json) -> str:
    """A limit is a request, too, where none is given."""
    given = {**mapping(container, "resources", "limits"), **mapping(container, "resources", "requests")}
    missing = [resource for resource in ("cpu", "memory") if resource not in given]
    return f"container '{text(container, 'name')}' does not request {' and '.join(missing)}" if missing else ""


def _creates_definitions(rule: Json) -> str:
    is_one = (
        "apiextensions.k8s.io" in texts(rule, "apiGroups")
        and not {"*", "customresourcedefinitions"}.isdisjoint(texts(rule, "resources"))
        and not {"*", "create"}.isdisjoint(texts(rule, "verbs"))
    )
    return "the operator may create CRDs" if is_one else ""


add_rows(
    FAMILY,
    EachOfCsv(
        id="RV1-702",
        title="Containers request CPU and memory",
        hint="Set `cpu` and `memory` in `resources.requests`: the scheduler needs them, and quotas may demand them.",
        of=["spec.install.spec.deployments[].spec.template.spec.containers[]"],
        defect=_not_requested,
        severity=Severity.WARNING,
    ),
    EachOfCsv(
        id="RV1-705",
        title="The operator may not create CRDs",
        hint="Ship the CRDs in the bundle: what the operator creates is neither upgraded nor removed with the bundle.",
        of=RULES,
        defect=_creates_definitions,
        severity=Severity.WARNING,
    ),
)
