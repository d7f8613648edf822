"""Helm's annotations of an object."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.objects import Object
from rukpak_py.formats.helm.rendered_objects import hook_of, is_hook, is_kept, is_test
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent

PRE, POST = HookEvent.PRE_INSTALL, HookEvent.POST_INSTALL
BEFORE = DeletePolicy.BEFORE_HOOK_CREATION


def manifest(name: str = "a", **annotations: Any) -> dict[str, Any]:
    noted = {f"helm.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": noted}}


def hook(name: str = "a", **annotations: Any) -> Hook | None:
    made = manifest(name, **annotations)
    return hook_of(made, Object.from_manifest(made))


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("pre-install", {PRE}),
        (" Pre-Install ,post-install", {PRE, POST}),
        ("pre-install,test", {PRE}),
        ("test-success, post-install", {POST}),
        *((event.value, {event}) for event in HookEvent),
    ],
)
def test_events_are_separated_by_commas(text: str, events: set[HookEvent]) -> None:
    found = hook(hook=text)
    assert found is not None
    assert found.events == events


@pytest.mark.parametrize("text", ["test", "test-success", "test-failure", "test,test-failure", " TEST "])
def test_tests_are_never_run(text: str) -> None:
    assert hook(hook=text) is None
    assert is_test(manifest(hook=text))


@pytest.mark.parametrize("text", ["crd-install", "pre-install,unknown", "", ","])
def test_an_unknown_event_makes_it_no_hook_at_all(text: str) -> None:
    assert is_hook(manifest(hook=text))
    assert not is_test(manifest(hook=text))
    assert hook(hook=text) is None


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("5", 5),
        ("-3", -3),
        ("+2", 2),
        ("007", 7),
        ("", 0),
        ("1.5", 0),
        ("x", 0),
        ("9" * 30, 0),
        ("٣", 0),
        (" 1", 0),
        (1, 0),
    ],
)
def test_a_weight_is_a_number_or_nothing(text: object, weight: int) -> None:
    found = hook(hook="pre-install", hook_weight=text)
    assert found is not None
    assert found.weight == weight


@pytest.mark.parametrize(
    ("annotations", "policies"),
    [
        ({}, {BEFORE}),
        ({"hook_delete_policy": "hook-succeeded"}, {DeletePolicy.HOOK_SUCCEEDED}),
        (
            {"hook_delete_policy": "Hook-Failed, before-hook-creation"},
            {DeletePolicy.HOOK_FAILED, BEFORE},
        ),
        ({"hook_delete_policy": "never"}, set()),
        ({"hook_delete_policy": ""}, set()),
    ],
)
def test_a_hook_is_deleted_before_the_next_one_unless_it_says_more(
    annotations: dict[str, str], policies: set[DeletePolicy]
) -> None:
    found = hook(hook="pre-install", **annotations)
    assert found is not None
    assert found.delete_policies == policies


def test_hooks_run_by_weight_and_then_by_name() -> None:
    made = [
        hook(name, hook="pre-install", hook_weight=weight) for name, weight in (("b", "0"), ("a", "0"), ("c", "-1"))
    ]
    order = sorted((one.order, one.object.head.name) for one in made if one is not None)
    assert [name for _, name in order] == ["c", "a", "b"]


@pytest.mark.parametrize(("text", "kept"), [("keep", True), (" KEEP ", True), ("delete", False), (True, False)])
def test_the_resource_policy_keeps(text: object, kept: bool) -> None:  # noqa: FBT001 - a table
    assert is_kept(manifest(resource_policy=text)) is kept


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)
    )
)
def test_metadata_of_any_form_is_no_hook(metadata: Any) -> None:
    found = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    assert not is_hook(found)
    assert not is_kept(found)
    assert not is_test({"metadata": {"annotations": metadata}})
