"""Rules for names by which objects of a bundle refer to each other.

A name that is not in the bundle may be there in the cluster. It is told as a slip where an object of that kind has
almost the same name, and nothing refers to that one.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.json_fields import Json, mapping
from rukpak_py.formats.object_rules.judged import MOST, Judged, JudgedObject, is_same_namespace
from rukpak_py.formats.object_rules.references import references
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Judged] = Family(title="Names of other objects", origin="rukpak-py")

_SHORTEST: Final = 3  # of a name, and of a word in it
_LONGEST: Final = 253  # characters of a name that an API server takes
_SELECTORS: Final = {
    "Service": ("spec", "selector"),
    "PodDisruptionBudget": ("spec", "selector", "matchLabels"),
    "NetworkPolicy": ("spec", "podSelector", "matchLabels"),
}


@FAMILY.rule(
    "OBJ-023",
    title="Names of other objects are spelled as these are",
    hint="Correct one of the two names.",
    severity=Severity.WARNING,
)
def names_are_spelled_right(judged: Judged) -> Iterator[Problem]:
    referring = list(references(judged))
    referred = {(one.kind, one.name) for one in referring}
    unnamed: dict[str, list[JudgedObject]] = {}
    for one in judged.objects:
        if one.is_built_in and (one.document.kind, one.document.name) not in referred:
            unnamed.setdefault(one.document.kind, []).append(one)
    missing = (one for one in referring if not judged.named(one.kind, one.name, one.namespace))
    for reference in islice(missing, MOST):
        for one in unnamed.get(reference.kind, ())[:MOST]:
            near = one.document.name
            if is_same_namespace(one.namespace, reference.namespace) and is_slip(reference.name, near):
                message = f"there is no {reference.kind} '{reference.name[:80]}' in the bundle"
                yield reference.origin.problem(message, hint=f"Did you mean `{near}`?")
                break


@FAMILY.rule(
    "OBJ-024",
    title="Keys of ConfigMaps and Secrets that containers need are there",
    hint="Correct the key, or add it; write `optional: true` if the container runs without it.",
    severity=Severity.WARNING,
)
def keys_exist(judged: Judged) -> Iterator[Problem]:
    for reference in references(judged):
        found = judged.named(reference.kind, reference.name, reference.namespace) if reference.key else []
        if any(one.keys for one in found) and not any(reference.key in one.keys for one in found):
            message = f"{reference.kind} '{reference.name[:80]}' has no key '{reference.key[:80]}': "
            yield reference.origin.problem(f"{message}the container does not start")


@FAMILY.rule(
    "OBJ-025",
    title="The labels of a selector are spelled as those of the pods",
    hint="Correct the selector, or the labels of the pods.",
    severity=Severity.WARNING,
)
def selectors_are_spelled_right(judged: Judged) -> Iterator[Problem]:
    for kind, field in _SELECTORS.items():
        for one in judged.of_kind(kind):
            selector = mapping(one.document.manifest, *field)
            if judged.selected(selector, one.namespace):
                continue
            near = (pods for pods in judged.pods[:MOST] if is_same_namespace(pods.namespace, one.namespace))
            for key, value in next(filter(None, (_slips(selector, pods.labels) for pods in near)), {}).items():
                message = f"{key[:80]}: {selector[key][:80]} selects no pods of the bundle"
                yield one.origin.problem(message, *field, key, hint=f"Did you mean `{value[:80]}`?")


def _slips(selector: Json, labels: Json) -> dict[str, str]:
    """The labels, where the selector has all their keys and some of its values are slips of theirs; else none."""
    found: dict[str, str] = {}
    for key, wanted in selector.items():
        value = labels.get(key)
        if wanted == value:
            continue
        if not isinstance(wanted, str) or not isinstance(value, str) or not is_slip(wanted, value):
            return {}
        found[key] = value
    return found


def is_slip(one: str, other: str) -> bool:
    """Whether a letter is wrong, missing, superfluous, or two are swapped. Numbers and single letters are names."""
    if not _SHORTEST <= min(len(one), len(other)) <= _LONGEST or abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    left, right = one[start:], other[start:]
    is_near = left[1:] == right[1:] or left[1:] == right or left == right[1:]
    is_swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    if not is_near and not is_swapped:
        return False
    return not _is_other_word(one, start) and not _is_other_word(other, start)


def _is_other_word(name: str, at_: int) -> bool:
    """Whether the character there belongs to a number or to a word of one or two letters, as in `db-a`."""
    if name[at_ : at_ + 1].isdigit():
        return True
    before, after = name[:at_].replace(".", "-"), name[at_:].replace(".", "-")
    return len(before.rpartition("-")[2] + after.partition("-")[0]) < _SHORTEST
