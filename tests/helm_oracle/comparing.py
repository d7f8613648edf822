"""Two clusters after the same steps: what differs, and whether each value was kept or renewed in the same steps.

A value that each rendering makes anew (a password, a certificate, a checksum of them) is never the same in two
clusters. It is compared by its history instead: in which steps it was what it had been in which step before.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rukpak_py.core.objects import ObjectKey
from tests.helm_oracle.snapshot import Path, Snapshot

NO_PATH: Path = ()
_NOTHING = object()
LONGEST = 60
# A value that is random, whatever namespace it was rendered for: the kind's group, the kind, the name, the path.
RandomPath = tuple[str, str, str, Path]


class Differs(StrEnum):
    ANSWER = "answer"  # one side did the step, the other one did not
    ONLY_HELM = "only with helm"
    ONLY_OPERATOR = "only with the operator"
    FIELD = "field"
    HISTORY = "kept or renewed"
    UNASKED = "changed without a step"  # by the operator, that has lost its storage


@dataclass(frozen=True, kw_only=True)
class Difference:
    kind: Differs
    object: ObjectKey | None = None
    path: Path = NO_PATH
    helm: str = ""
    operator: str = ""

    def __str__(self) -> str:
        place = " ".join(part for part in (str(self.object or ""), ".".join(self.path)) if part)
        helm, operator = self.helm or "nothing", self.operator or "nothing"
        match self.kind:
            case Differs.ONLY_HELM | Differs.ONLY_OPERATOR:
                sides = place
            case Differs.UNASKED:
                sides = f"{place} before {helm}, now {operator}".lstrip()
            case _:
                sides = f"{place}: helm {helm}, operator {operator}".removeprefix(": ")
        return f"{self.kind}: {sides}"


class KeyState(StrEnum):
    """Change of a Secret's key by a step."""

    NEW = "new"
    KEPT = "kept"
    RENEWED = "renewed"
    GONE = "gone"


SecretKey = tuple[ObjectKey, str]


def differences(helm: Snapshot, operator: Snapshot) -> Iterator[Difference]:
    """As of now, values that are random included."""
    for key in sorted({*helm, *operator}):
        if key not in operator:
            yield Difference(kind=Differs.ONLY_HELM, object=key)
        elif key not in helm:
            yield Difference(kind=Differs.ONLY_OPERATOR, object=key)
        else:
            for path in sorted({*helm[key], *operator[key]}):
                ours, theirs = operator[key].get(path, _NOTHING), helm[key].get(path, _NOTHING)
                if ours != theirs:
                    yield Difference(
                        kind=Differs.FIELD, object=key, path=path, helm=_shown(theirs), operator=_shown(ours)
                    )


def unasked(before: Snapshot, after: Snapshot) -> Iterator[Difference]:
    """Changes of the operator between two steps. `helm` of each is the former value."""
    for one in differences(before, after):
        yield replace(one, kind=Differs.UNASKED)


def by_history(
    found: Sequence[Difference],
    helm: Sequence[Snapshot],
    operator: Sequence[Snapshot],
    random: Collection[RandomPath],
) -> Iterator[Difference]:
    """The same, with the histories of random values in the place of the values: both sides, oldest first."""
    for one in found:
        if one.kind is not Differs.FIELD or one.object is None or random_path(one.object, one.path) not in random:
            yield one
            continue
        theirs, ours = (history_of(one.object, one.path, snapshots) for snapshots in (helm, operator))
        if theirs[-1] != ours[-1]:
            yield Difference(
                kind=Differs.HISTORY,
                object=one.object,
                path=one.path,
                helm=_of_step(theirs),
                operator=_of_step(ours),
            )


def random_path(key: ObjectKey, path: Path) -> RandomPath:
    return (key.group, key.kind, key.name, path)


def random_paths(first: Snapshot, second: Snapshot) -> set[RandomPath]:
    """Paths at which two renderings of the same chart with the same values differ."""
    return {
        random_path(key, path)
        for key in first.keys() & second.keys()
        for path in {*first[key], *second[key]}
        if first[key].get(path) != second[key].get(path)
    }


def history_of(key: ObjectKey, path: Path, snapshots: Sequence[Snapshot]) -> tuple[int, ...]:
    """For each step, the first step that had its value."""
    values = [one.get(key, {}).get(path) for one in snapshots]
    return tuple(values.index(value) for value in values)


def secret_keys(snapshots: Sequence[Snapshot]) -> dict[SecretKey, KeyState]:
    """Change of each key of each Secret by the last step."""
    now = _secret_values(snapshots[-1])
    before = _secret_values(snapshots[-2]) if len(snapshots) > 1 else {}
    return {key: _state(before.get(key), now.get(key)) for key in sorted({*now, *before})}


def _state(before: object, now: object) -> KeyState:
    if now is None:
        return KeyState.GONE
    if before is None:
        return KeyState.NEW
    return KeyState.KEPT if now == before else KeyState.RENEWED


def _secret_values(snapshot: Snapshot) -> dict[SecretKey, object]:
    return {
        (key, path[1]): value
        for key, leaves in snapshot.items()
        if (key.group, key.kind) == ("", "Secret")
        for path, value in leaves.items()
        if path[0] == "data"
    }


def _of_step(history: Sequence[int]) -> str:
    step = history[-1]
    return "a new value" if step == len(history) - 1 else f"the value of step {step + 1}"


def _shown(value: object) -> str:
    if value is _NOTHING:
        return ""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
