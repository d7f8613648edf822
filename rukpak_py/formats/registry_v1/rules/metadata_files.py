"""Rules for metadata/: names of the package and its channels, and files and keys that mean nothing to their readers.

Catalogs and what is made of them ask more of the names than any renderer.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import QUOTED, Fix, Severity
from rukpak_py.formats import dns
from rukpak_py.formats.json_fields import entries
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.metadata.annotations import (
    ANNOTATIONS_FILE,
    CHANNELS,
    DEFAULT_CHANNEL,
    PACKAGE,
    catalog_annotations_file,
)
from rukpak_py.formats.registry_v1.metadata.dependencies import DEPENDENCIES_FILE, read_dependencies
from rukpak_py.formats.registry_v1.metadata.go_fields import fields
from rukpak_py.formats.registry_v1.metadata.properties import PROPERTIES_FILE
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.rules import Family, Place, Problem
from rukpak_py.formats.syntax import syntax_problem

NAMES: Family[RegistryBundle] = Family(title="Names in metadata/annotations.yaml", origin="rukpak-py")
UNREAD: Family[Reading] = Family(title="Metadata that is not read", origin="rukpak-py")

_NO_PART_OF_A_NAME: Final = re.compile(r"""[\s\[\]{}"'`]+""")
_AROUND_NAMES: Final = " \t\r\n[]{}\"'`"
_KEY: Final = "dependencies"
_STEM: Final = "dependencies"
_SCORECARD: Final = "tests/scorecard/config.yaml"
MAX_OPENSHIFT: Final = "olm.maxOpenShiftVersion"


@NAMES.rule(
    "RV1-930",
    title="Channels are names, separated by commas without blanks",
    hint="Write `stable,beta`: blanks, brackets and quotes become part of a name.",
    severity=Severity.WARNING,
)
def channels_are_names(bundle: RegistryBundle) -> Iterator[Problem]:
    for key, written in ((CHANNELS, bundle.metadata.channels), (DEFAULT_CHANNEL, bundle.metadata.default_channel)):
        channels = written.split(",") if key == CHANNELS else [written]
        odd = [channel for channel in channels if not channel or _NO_PART_OF_A_NAME.search(channel)]
        if written and odd:
            right = ",".join(_names(channels))
            # One with a blank in it may be one name or two.
            is_certain = not any(_NO_PART_OF_A_NAME.search(channel.strip(_AROUND_NAMES)) for channel in channels)
            yield Problem(
                message=f"{odd[0]!r} is not a valid channel name",
                place=_annotation(key),
                hint=f"Write {key}: {right}",
                fix=Fix(text=right) if right and is_certain else None,
            )


@NAMES.rule(
    "RV1-931",
    title="The package's name is a DNS-1123 subdomain",
    hint="Use lower case letters, digits and `-` only: catalogs, namespaces and labels are named after the package.",
    severity=Severity.WARNING,
)
def the_package_name_is_valid(bundle: RegistryBundle) -> Iterator[Problem]:
    package = bundle.metadata.package
    if package and (reasons := dns.subdomain(package)):
        yield Problem(message=f"package name {package!r} is invalid: {', '.join(reasons)}", place=_annotation(PACKAGE))


def _names(channels: list[str]) -> list[str]:
    """The names that were meant."""
    found = (_NO_PART_OF_A_NAME.sub("-", channel).strip("-") for channel in channels)
    return [name for name in found if name]


def _annotation(key: str) -> Place:
    return Place(file=ANNOTATIONS_FILE, path=("annotations", key))


@UNREAD.rule(
    "RV1-950",
    title="A file of dependencies has dependencies",
    hint=f"Write a list below `{_KEY}:`, each entry with `type` and `value`; or remove the file.",
    severity=Severity.WARNING,
)
def dependencies_are_read(reading: Reading) -> Iterator[Problem]:
    if isinstance(problem := _parsed(reading, DEPENDENCIES_FILE), Problem):
        yield problem
    documents = dict(reading.metadata_documents)
    if (annotations := catalog_annotations_file(documents.items())) is not None:
        del documents[annotations[0]]
    if read_dependencies(documents.items()):
        return
    for path, document in documents.items():
        # `dependencies: []` says that there are none.
        is_empty = isinstance(document, dict) and any(not document[key] for key, _ in fields(document, [_KEY]))
        if _is_meant(path) and document is not None and not is_empty:
            keys = [key for key in document if isinstance(key, str)] if isinstance(document, dict) else []
            (near,) = get_close_matches(_KEY, keys, n=1) or [""]
            yield Problem(
                message=f"no dependencies are read from {path}",
                place=Place(file=path, path=(near,) if near else (), on_key=True),
                hint=f"Did you mean `{_KEY}` instead of `{near}`?" if near and near != _KEY else None,
            )


def _parsed(reading: Reading, path: str) -> Any:
    """The first document of the file; a Problem where it cannot be parsed."""
    try:
        return yaml.load(reading.tree[path], limits=reading.limits) if path in reading.tree else None
    except ContentError as error:
        return syntax_problem(error, reading.tree[path], Place(file=path))


@UNREAD.rule(
    "RV1-952",
    title="The configuration of scorecard can be decoded",
    hint="Write an object with `apiVersion: scorecard.operatorframework.io/v1alpha3`, `kind: Configuration` and a list "
    "`stages`; or remove the file.",
    severity=Severity.WARNING,
)
def scorecard_is_read(reading: Reading) -> Iterator[Problem]:
    place = Place(file=_SCORECARD)
    match _parsed(reading, _SCORECARD):
        case _ if _SCORECARD not in reading.tree:
            return
        case Problem() as problem:
            yield problem
        case {"stages": stages} if not isinstance(stages, list | None):
            message = "stages of the configuration of scorecard must be a list"
            yield Problem(message=message, place=place.below("stages"))
        case dict():
            return
        case _:
            yield Problem(message="the configuration of scorecard must be an object", place=place)


def _is_meant(path: str) -> bool:
    """Whether the name, with a slip or two, is that of the dependencies file."""
    stem = path.rpartition("/")[2].partition(".")[0].lower()
    return path == DEPENDENCIES_FILE or bool(get_close_matches(stem, [_STEM], n=1, cutoff=0.8))


@UNREAD.rule(
    "RV1-951",
    title=f"The property {MAX_OPENSHIFT} is a string",
    hint="Put it in quotes: as a number 4.10 is 4.1.",
    severity=Severity.WARNING,
)
def versions_are_texts(reading: Reading) -> Iterator[Problem]:
    document = reading.metadata_documents.get(PROPERTIES_FILE)
    for path, entry in entries(document, "properties"):
        value = entry.get("value")
        if entry.get("type") == MAX_OPENSHIFT and isinstance(value, int | float):
            message = f"the value of {MAX_OPENSHIFT} is a number"
            yield Problem(message=message, place=Place(file=PROPERTIES_FILE, path=(*path, "value")), fix=QUOTED)
