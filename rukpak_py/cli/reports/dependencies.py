"""Dependencies of a bundle of a catalog: a sentence for people, and a document for programs."""

from typing import Any

from rukpak_py.catalog.dependencies import Dependency, Satisfaction
from rukpak_py.core.text import excerpt, named

Json = dict[str, Any]
_LONGEST = 512  # characters of what a constraint requires


def subject(dependency: Dependency) -> str:
    """Its requirement; parts of a constraint in brackets."""
    return excerpt(_subject(dependency), _LONGEST)


def outcome(dependency: Dependency) -> str:
    """Whether the catalog has it, and which bundle."""
    match dependency.satisfaction:
        case Satisfaction.SATISFIED:
            found = named(f"{one.bundle} (package {one.package})" for one in dependency.providers)
            return f"provided by {found}" if found else "satisfied"
        case Satisfaction.CONDITIONAL:
            return "satisfied while none of it is installed"
        case Satisfaction.NOT_EVALUATED:
            return f"not checked: {dependency.problem or 'a part of it cannot be'}"
        case Satisfaction.MISSING:
            return f"missing in the catalog{_advice(dependency)}"
        case Satisfaction.INVALID:
            return f"invalid{f': {dependency.problem}' if dependency.problem else ''}"


def document(dependency: Dependency) -> Json:
    kind = dependency.kind
    return {
        "form": dependency.form,
        "satisfaction": dependency.satisfaction.name.lower(),
        "package": dependency.package or None,
        "versionRange": dependency.version_range or None,
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind} if kind else None,
        "providers": [
            {"package": one.package, "bundle": one.bundle, "version": one.version} for one in dependency.providers
        ],
        "failureMessage": dependency.failure_message or None,
        "problem": dependency.problem or None,
        "parts": [document(part) for part in dependency.parts],
    }


def _subject(dependency: Dependency) -> str:
    if dependency.kind is not None:
        kind = dependency.kind
        return f"{kind.kind} ({kind.group}/{kind.version})" if kind.group else f"{kind.kind} ({kind.version})"
    if dependency.package:
        versions = f" {dependency.version_range}" if dependency.version_range else ""
        return f"package {dependency.package}{versions}"
    if dependency.parts:
        return f"{dependency.form} of ({', '.join(map(_subject, dependency.parts))})"
    return dependency.form


def _advice(dependency: Dependency) -> str:
    return f": {dependency.failure_message}" if dependency.failure_message else ""
