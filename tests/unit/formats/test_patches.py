"""Patches of rendered objects: which objects they match, what they change, and what they may not."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from rukpak_py.api.deployment_spec import Patch
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import Object
from rukpak_py.formats.patches import PatchedObjects, patch_objects
from tests.manifests import config_map, manifest, workload

WEB = workload("web", "shop")
LABELLED = manifest("v1", "ConfigMap", "labelled", "shop", labels={"app": "web", "tier": "front"})
PLAIN = config_map("plain", "shop", key="value")
ELSEWHERE = config_map("plain", "elsewhere", key="value")
NOWHERE = config_map("nowhere", key="value")
ALL = (WEB, LABELLED, PLAIN, ELSEWHERE, NOWHERE)
MARK = "data: {marked: 'true'}"


def patches(*found: dict[str, Any]) -> tuple[Patch, ...]:
    return msgspec.convert(found, type=tuple[Patch, ...])


def one(change: str = MARK, *, kind: str = "ConfigMap", **target: Any) -> dict[str, Any]:
    return {"target": {"kind": kind, **target}, "patch": change}


def patched(*found: dict[str, Any], objects: tuple[dict[str, Any], ...] = ALL, **more: Any) -> PatchedObjects:
    given = [Object.from_manifest(each) for each in objects]
    return patch_objects(given, patches(*found), default_namespace="shop", **more)


def marked(result: PatchedObjects) -> list[str]:
    return [
        f"{each.head.namespace}/{each.head.name}"
        for each in result.objects
        if "marked" in (each.manifest().get("data") or {})
    ]


SHOP = ["shop/labelled", "shop/plain"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({}, [*SHOP, "elsewhere/plain", "/nowhere"]),
        ({"name": "plain"}, ["shop/plain", "elsewhere/plain"]),
        ({"namespace": "shop"}, [*SHOP, "/nowhere"]),
        ({"namespace": "elsewhere", "name": "plain"}, ["elsewhere/plain"]),
        ({"group": "example.com"}, []),
        ({"kind": "Secret"}, []),
        ({"labelSelector": {}}, [*SHOP, "elsewhere/plain", "/nowhere"]),
        ({"labelSelector": {"matchLabels": {"app": "web"}}}, ["shop/labelled"]),
        ({"labelSelector": {"matchLabels": {"app": "web", "tier": "back"}}}, []),
        *(
            ({"labelSelector": {"matchExpressions": [expression]}}, names)
            for expression, names in (
                ({"key": "tier", "operator": "In", "values": ["front", "back"]}, ["shop/labelled"]),
                ({"key": "tier", "operator": "In", "values": []}, []),
                ({"key": "tier", "operator": "Exists"}, ["shop/labelled"]),
                (
                    {"key": "tier", "operator": "NotIn", "values": ["front"]},
                    ["shop/plain", "elsewhere/plain", "/nowhere"],
                ),
                ({"key": "tier", "operator": "DoesNotExist"}, ["shop/plain", "elsewhere/plain", "/nowhere"]),
            )
        ),
    ],
)
def test_targets(target: dict[str, Any], expected: list[str]) -> None:
    result = patched(one(**target))
    assert marked(result) == expected
    assert result.unmatched == (() if expected else (0,))


def test_patches_of_an_object_are_applied_in_their_order_to_what_was_rendered() -> None:
    result = patched(
        one("metadata: {labels: {new: label}}", name="plain", namespace="shop"),
        one("[{op: replace, path: /data/key, value: second}]", name="plain", namespace="shop"),
        one("data: {key: third, more: text}", name="plain", namespace="shop"),
        one(MARK, labelSelector={"matchLabels": {"new": "label"}}),
        objects=(PLAIN,),
    )
    assert result.objects[0].manifest() == {
        **PLAIN,
        "metadata": {**PLAIN["metadata"], "labels": {"new": "label"}},
        "data": {"key": "third", "more": "text"},
    }
    assert result.unmatched == (3,), "labels count as the content has them"


def test_json_patch_reaches_into_lists() -> None:
    change = """
    - {op: test, path: /spec/template/spec/containers/0/name, value: c}
    - {op: add, path: /spec/template/spec/containers/0/env, value: [{name: A, value: b}]}
    """
    result = patched(one(change, kind="Deployment", group="apps", name="web"))
    container = result.objects[0].manifest()["spec"]["template"]["spec"]["containers"][0]
    assert container == {"name": "c", "image": "none", "env": [{"name": "A", "value": "b"}]}


def test_without_patches_everything_stays_as_it_is() -> None:
    assert [each.manifest() for each in patched().objects] == list(ALL)


def test_exempt_objects_are_neither_patched_nor_count_as_matched() -> None:
    key = Object.from_manifest(PLAIN).head.key
    result = patched(one(name="plain", namespace="shop"), exempt={key})
    assert (marked(result), result.unmatched) == ([], (0,))


@pytest.mark.parametrize(
    "change",
    [
        "apiVersion: v2",
        "kind: Secret",
        "metadata: {name: other}",
        "metadata: {namespace: other}",
        "metadata: {namespace: null}",
        "metadata: null",
        "metadata: {finalizers: [example.com/held]}",
        "metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: u}]}",
        "metadata: {generateName: x-}",
        "metadata: {labels: {core.rukpak.io/owner-name: other}}",
        "metadata: {annotations: {core.rukpak.io/prune: 'false'}}",
        "[{op: remove, path: /metadata/name}]",
        "[{op: replace, path: '', value: {}}]",
        "[{op: move, from: /metadata, path: /spec}]",
    ],
)
def test_identity_and_owner_of_an_object_cannot_be_changed(change: str) -> None:
    with pytest.raises(ContentError, match=r"spec.patches\[0\] cannot be applied to ConfigMap shop/plain: it may not"):
        patched(one(change), objects=(PLAIN,))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("text", r"^spec.patches\[0\].patch must be a mapping \(a merge patch\) or a list of operations"),
        ("[]", r"^spec.patches\[0\].patch must be a mapping"),
        ("{}", r"^spec.patches\[0\].patch must be a mapping"),
        ("a: [", r"^spec.patches\[0\].patch: "),
        (
            "[{op: remove, path: /spec}]",
            r'cannot be applied to ConfigMap shop/plain: operation 0: "/spec" does not exist$',
        ),
        ("[{op: replace, path: '', value: 1}]", "the result is not a mapping"),
        ("&a [*a, *a]", r"^spec.patches\[0\].patch: "),
        ("[" * 5000, r"^spec.patches\[0\].patch: "),
        ("x: " + "{a: " * 150 + "1" + "}" * 150, None),
    ],
)
def test_patches_that_are_none_are_refused_by_their_place(change: str, problem: str | None) -> None:
    if problem is None:
        patched(one(change), objects=(PLAIN,))
        return
    with pytest.raises(ContentError, match=problem):
        patched(one(change), objects=(PLAIN,))


def test_no_message_has_a_value() -> None:
    with pytest.raises(ContentError) as refused:
        patched(one("[{op: test, path: /data/key, value: hunter2}]"), objects=(PLAIN,))
    assert "hunter2" not in str(refused.value)
    assert "value" not in str(refused.value).removesuffix("has another value")


def test_aliases_do_not_make_a_patch_large() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise("abcdefg"):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 6)}]")
    with pytest.raises(ContentError, match=r"^spec.patches\[0\].patch: "):
        patched(one("\n".join(lines)), objects=(PLAIN,))


def test_objects_stay_within_the_limits() -> None:
    large = "data: {large: " + "x" * 2_000 + "}"
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_OBJECT_BYTES"):
        patched(one(large), objects=(PLAIN,), limits=Limits(object_bytes=1_000))
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_RENDERED_BYTES"):
        patched(one(large), limits=Limits(rendered_bytes=4_000))
    doubling = "[" + ", ".join(f"{{op: copy, from: /data, path: /data/x{number}}}" for number in range(40)) + "]"
    with pytest.raises(ContentError, match="copy too much"):
        patched(one(doubling), objects=(PLAIN,))
