"""Patches of rendered objects, for content that cannot be edited (`spec.patches`).

They come between the rendering of any format and everything else, so all that follows sees the patched objects: gates,
plans, permissions, digests. Targets are looked for among the objects as they were rendered; the patches of an object
are applied in their order. Hooks and a chart's `crds/` are not patched.

A patch cannot make another object of its target, nor change what is not the content's: owner references, finalizers,
and labels and annotations of ours.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rukpak_py.api.deployment_spec import LabelOperator, LabelSelector, Patch, PatchTarget
from rukpak_py.api.names import GROUP
from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.core.json_patch import CopyBudget, PatchError, merge, patch
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object, ObjectKey, canonical_json

PATCH_NODES = 10_000  # of YAML in one patch, with aliases expanded
PATCH_DEPTH = 200


class PatchedObjects(NamedTuple):
    """`unmatched`: places of the patches without any target, from 0."""

    objects: list[Object]
    unmatched: tuple[int, ...] = ()


def patch_objects(
    objects: Sequence[Object],
    patches: Sequence[Patch],
    *,
    default_namespace: str = "",
    exempt: Collection[ObjectKey] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> PatchedObjects:
    """ContentError: a patch is none, does not fit an object, or changes what it may not."""
    changes = [_change_of(one, number, limits) for number, one in enumerate(patches)]
    found = set[int]()
    result = []
    size = 0
    for obj in objects:
        numbers = [] if obj.head.key in exempt else _patches_of(obj, patches, default_namespace)
        found.update(numbers)
        for number in numbers:
            obj = _patched(obj, changes[number], number, limits)  # noqa: PLW2901 - one after the other
        size += len(obj.json)
        if size > limits.rendered_bytes:
            raise limits.exceeded("rendered_bytes", "the size of all objects with spec.patches")
        result.append(obj)
    return PatchedObjects(result, tuple(number for number in range(len(patches)) if number not in found))


def matches_key(target: PatchTarget, key: ObjectKey, *, default_namespace: str) -> bool:
    """Whether it may be this object, whatever its labels are."""
    if (target.group, target.kind) != (key.group, key.kind):
        return False
    return target.name in {"", key.name} and target.namespace in {"", key.namespace or default_namespace}


def _patches_of(obj: Object, patches: Sequence[Patch], default_namespace: str) -> list[int]:
    found = [
        number
        for number, one in enumerate(patches)
        if matches_key(one.target, obj.head.key, default_namespace=default_namespace)
    ]
    if all(patches[number].target.label_selector is None for number in found):
        return found
    labels = _mapping(_mapping(obj.manifest().get("metadata")).get("labels"))
    return [number for number in found if _selects(patches[number].target.label_selector, labels)]


def _selects(selector: LabelSelector | None, labels: Mapping[str, Any]) -> bool:
    if selector is None:
        return True
    if any(labels.get(name) != value for name, value in selector.match_labels.items()):
        return False
    for one in selector.match_expressions:
        match one.operator:
            case LabelOperator.IN:
                is_met = labels.get(one.key) in one.values
            case LabelOperator.NOT_IN:
                is_met = labels.get(one.key) not in one.values
            case LabelOperator.EXISTS:
                is_met = one.key in labels
            case LabelOperator.DOES_NOT_EXIST:
                is_met = one.key not in labels
        if not is_met:
            return False
    return True


def _change_of(one: Patch, number: int, limits: Limits) -> dict[str, Any] | list[Any]:
    """The mapping of a merge patch, or the operations of a JSON patch."""
    small = replace(limits, yaml_nodes=PATCH_NODES, yaml_depth=PATCH_DEPTH)
    try:
        change = yaml.load(one.patch.encode(), limits=small)
    except ContentError as error:
        raise ContentError(f"{_place(number)}.patch: {error}") from error
    if not isinstance(change, dict | list) or not change:
        raise ContentError(
            f"{_place(number)}.patch must be a mapping (a merge patch) or a list of operations (a JSON patch)"
        )
    return change


def _patched(obj: Object, change: dict[str, Any] | list[Any], number: int, limits: Limits) -> Object:
    manifest = obj.manifest()
    try:
        if isinstance(change, list):
            after = patch(manifest, change, CopyBudget(left=2 * limits.object_bytes))
        else:
            after = merge(manifest, change)
        _demand_same(manifest, after)
        text = canonical_json(after)
    except (PatchError, ContentError) as error:
        raise ContentError(f"{_place(number)} cannot be applied to {obj.head.key}: {error}") from error
    if len(text) > limits.object_bytes:
        raise limits.exceeded("object_bytes", f"the size of {obj.head.key} with {_place(number)}")
    return Object(head=obj.head, json=text)


def _demand_same(before: Mapping[str, Any], after: Any) -> None:
    """PatchError: it is another object, or something is changed that no patch may change."""
    if not isinstance(after, dict):
        raise PatchError("the result is not a mapping")
    fixed = _fixed(after)
    if changed := [name for name, value in _fixed(before).items() if fixed[name] != value]:
        raise PatchError(f"it may not change {', '.join(changed)}")


def _fixed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that no patch may change."""
    metadata = _mapping(manifest.get("metadata"))
    return {
        "apiVersion": manifest.get("apiVersion"),
        "kind": manifest.get("kind"),
        **{
            f"metadata.{name}": metadata.get(name)
            for name in ("name", "namespace", "generateName", "ownerReferences", "finalizers")
        },
        **{f"metadata.{name} of {GROUP}": _ours(metadata.get(name)) for name in ("labels", "annotations")},
    }


def _ours(found: object) -> dict[str, Any]:
    return {name: value for name, value in _mapping(found).items() if name == GROUP or name.startswith(f"{GROUP}/")}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _place(number: int) -> str:
    return f"spec.patches[{number}]"
