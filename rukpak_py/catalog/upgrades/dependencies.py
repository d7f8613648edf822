"""Dependencies of a bundle, and whether the catalog can satisfy each on its own.

Nothing is solved: a dependency is satisfied when some bundle of the catalog provides it. Constraints nest; `all` is as
good as its worst part and `any` as its best. A `not` holds as long as no bundle that provides a part is installed,
which a catalog cannot know.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from rukpak_py.catalog import model
from rukpak_py.catalog.fields import member
from rukpak_py.catalog.model import Bundle
from rukpak_py.catalog.upgrades.providers import GroupVersionKind, Provider, Providers
from rukpak_py.core.ranges import Range

MOST_NESTED = 16  # constraints within each other
MOST_PARTS = 1_000  # constraints of one property; each can look through a package


class Satisfaction(IntEnum):
    """From the best to the worst."""

    SATISFIED = 0
    CONDITIONAL = 1  # while certain bundles are not installed
    NOT_EVALUATED = 2  # an expression, or of a form that is not known
    MISSING = 3
    INVALID = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Dependency:
    """One property, or a part of a constraint. `form` is the type of the property, or the key of the constraint."""

    form: str
    satisfaction: Satisfaction
    package: str = ""
    version_range: str = ""
    kind: GroupVersionKind | None = None
    providers: tuple[Provider, ...] = ()  # the preferred one first
    failure_message: str = ""
    problem: str = ""  # why it is invalid or not evaluated
    parts: "tuple[Dependency, ...]" = ()

    @property
    def provider(self) -> Provider | None:
        return self.providers[0] if self.providers else None


def dependencies_of(bundle: Bundle, providers: Providers) -> tuple[Dependency, ...]:
    """In the order of the properties; equal ones once."""
    return tuple(dict.fromkeys(_evaluated(bundle, providers)))


def _evaluated(bundle: Bundle, providers: Providers) -> Iterator[Dependency]:
    for one in bundle.properties:
        match one.type:
            case model.REQUIRED_PACKAGE:
                yield _package(model.REQUIRED_PACKAGE, one.value, providers)
            case model.REQUIRED_GVK:
                yield _kind(model.REQUIRED_GVK, one.value, providers)
            case model.CONSTRAINT:
                yield _Constraints(providers).evaluate(one.value, form=model.CONSTRAINT, depth=0)


def _package(form: str, value: object, providers: Providers, message: str = "") -> Dependency:
    package, text = (
        member(value, key)[1] if isinstance(value, dict) else None for key in ("packageName", "versionRange")
    )
    if not isinstance(package, str) or not package or not isinstance(text, str):
        return _invalid(form, "names no package or no range of versions", message)
    try:
        versions = Range.parse(text)
    except ValueError as error:
        return Dependency(
            form=form,
            satisfaction=Satisfaction.INVALID,
            package=package,
            version_range=text,
            failure_message=message,
            problem=str(error),
        )
    found = providers.of_package(package, versions)
    return Dependency(
        form=form,
        satisfaction=Satisfaction.SATISFIED if found else Satisfaction.MISSING,
        package=package,
        version_range=text,
        providers=(found,) if found else (),
        failure_message=message,
    )


def _kind(form: str, value: object, providers: Providers, message: str = "") -> Dependency:
    kind = GroupVersionKind.of(value)
    if kind is None:
        return _invalid(form, "names no kind", message)
    found = providers.of_kind(kind)
    return Dependency(
        form=form,
        satisfaction=Satisfaction.SATISFIED if found else Satisfaction.MISSING,
        kind=kind,
        providers=found,
        failure_message=message,
    )


def _invalid(form: str, problem: str, message: str = "") -> Dependency:
    return Dependency(form=form, satisfaction=Satisfaction.INVALID, problem=problem, failure_message=message)


class _Constraints:
    """Evaluates one property; it counts its parts, because each can look through a package."""

    _FORMS = ("package", "gvk", "all", "any", "not", "cel")

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._left = MOST_PARTS

    def evaluate(self, value: Any, *, form: str, depth: int) -> Dependency:
        if not isinstance(value, dict):
            return _invalid(form, "is not an object")
        self._left -= 1
        if depth > MOST_NESTED or self._left < 0:
            return _invalid(form, f"has more than {MOST_NESTED} levels or {MOST_PARTS} parts")
        text = value.get("failureMessage", "")
        message = text if isinstance(text, str) else ""
        forms = [key for key in self._FORMS if value.get(key) is not None]
        if len(forms) != 1:
            return _invalid(form, f"must have exactly one of {', '.join(self._FORMS)}; it has {len(forms)}", message)
        match forms[0]:
            case "package" as key:
                return _package(key, value[key], self._providers, message)
            case "gvk" as key:
                return _kind(key, value[key], self._providers, message)
            case "cel":
                return Dependency(
                    form="cel",
                    satisfaction=Satisfaction.NOT_EVALUATED,
                    failure_message=message,
                    problem="expressions are not evaluated",
                )
            case key:
                return self._compound(key, value[key], message, depth)

    def _compound(self, form: str, value: object, message: str, depth: int) -> Dependency:
        constraints = value.get("constraints") if isinstance(value, dict) else None
        if not isinstance(constraints, list) or not constraints:
            return _invalid(form, "has no constraints", message)
        parts = tuple(
            self.evaluate(one, form=model.CONSTRAINT, depth=depth + 1) for one in constraints[: self._left + 1]
        )
        found = [part.satisfaction for part in parts]
        match form:
            case "any":
                satisfaction = min(found)
            case "not":
                satisfaction = max(_negated(one) for one in found)
            case _:
                satisfaction = max(found)
        return Dependency(form=form, satisfaction=satisfaction, failure_message=message, parts=parts)


def _negated(found: Satisfaction) -> Satisfaction:
    match found:
        case Satisfaction.SATISFIED:
            return Satisfaction.CONDITIONAL
        case Satisfaction.CONDITIONAL | Satisfaction.MISSING:
            return Satisfaction.SATISFIED
        case _:
            return found
