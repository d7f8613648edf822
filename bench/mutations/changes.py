"""Changes of one manifest, and the cases made of them: a family, what is changed, and how.

A change edits a mapping in place and says whether it could. Paths are keys with dots between them: `ports[]` is any
item of that list, and missing mappings on the way are made. A case is for one target: `any` manifest, a kind, a
`workload` (it has a pod template), the specification of a `pod`, a `container`, or a `webhookdefinition` of a CSV.
"""

import copy
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Document, Random], bool]

KEPT_BACK_ONE_OF = 5


@dataclass(frozen=True, kw_only=True)
class Case:
    family: str
    target: str
    name: str
    change: Change

    @property
    def is_kept_back(self) -> bool:
        """Whether only the set that is kept back has it. Decided by the name: stable when cases are added."""
        return zlib.crc32(f"{self.family}/{self.target}/{self.name}".encode()) % KEPT_BACK_ONE_OF == 0


def cases(family: str, target: str, changes: Mapping[str, Change]) -> Iterator[Case]:
    for name, change in changes.items():
        yield Case(family=family, target=target, name=name, change=change)


def put(path: str, *values: Any) -> Change:
    """Set the field to one of the values."""

    def change(document: Document, random: Random) -> bool:
        slot = _slot(document, path, random)
        if slot is None:
            return False
        container, key = slot
        container[key] = copy.deepcopy(random.choice(values))
        return True

    return change


def put_all(changes: Mapping[str, Any]) -> Change:
    """Set several fields."""
    return both(*(put(path, value) for path, value in changes.items()))


def drop(path: str) -> Change:
    def change(document: Document, random: Random) -> bool:
        slot = _slot(document, path, random)
        if slot is None or slot[1] not in slot[0]:
            return False
        del slot[0][slot[1]]
        return True

    return change


def add(path: str, *items: Any) -> Change:
    """Append one of the items to the list, which is made where it is missing."""

    def change(document: Document, random: Random) -> bool:
        slot = _slot(document, path, random)
        if slot is None:
            return False
        container, key = slot
        found = container.get(key)
        if not isinstance(found, list | None):
            return False
        container[key] = [*(found or ()), copy.deepcopy(random.choice(items))]
        return True

    return change


def twice(path: str) -> Change:
    """Repeat an item of the list at its end."""

    def change(document: Document, random: Random) -> bool:
        slot = _slot(document, path, random)
        found = slot and slot[0].get(slot[1])
        if not isinstance(found, list) or not found:
            return False
        found.append(copy.deepcopy(random.choice(found)))
        return True

    return change


def rename(path: str, name: str) -> Change:
    """Give the field another name, in the same mapping."""

    def change(document: Document, random: Random) -> bool:
        slot = _slot(document, path, random)
        if slot is None or slot[1] not in slot[0]:
            return False
        slot[0][name] = slot[0].pop(slot[1])
        return True

    return change


def both(*changes: Change) -> Change:
    return lambda document, random: all(change(document, random) for change in changes)


def _slot(root: Document, path: str, random: Random) -> tuple[Document, str] | None:
    *around, last = path.split(".")
    node: Any = root
    for segment in around:
        name = segment.removesuffix("[]")
        found = node.get(name)
        if segment.endswith("[]"):
            found = random.choice(found) if isinstance(found, list) and found else False
        elif found is None:
            found = node[name] = {}
        if not isinstance(found, dict):
            return None
        node = found
    return node, last


def targets(manifest: Document) -> Iterator[tuple[str, Document]]:
    """The parts of a manifest that cases are for, by target."""
    kind = manifest.get("kind")
    if not isinstance(kind, str):
        return
    yield kind, manifest
    if kind == "WebhookDefinition":
        return
    yield "any", manifest
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return
    match kind:
        case "Pod":
            pod = spec
        case "CronJob":
            pod = _below(spec, "jobTemplate", "spec", "template", "spec")
        case "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job":
            pod = _below(spec, "template", "spec")
            yield "workload", manifest
        case _:
            return
    yield "pod", pod
    for container in pod.get("containers") or ():
        if isinstance(container, dict):
            yield "container", container


def _below(document: Document, *keys: str) -> Document:
    for key in keys:
        document = document.get(key) or {}
    return document
