"""Fields of the content that are not applied: what is sent, and what is no longer ours."""

from typing import Any

import pytest

from rukpak_py.apply.ignored import below_whole_lists, leave_out, without_ignored
from rukpak_py.apply.normalise.notes import Notes
from rukpak_py.core.errors import ContentError
from tests.manifests import manifest

HOOKS = manifest(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "istiod",
    webhooks=[
        {"name": "a", "failurePolicy": "Ignore", "rules": [{"operations": ["*"]}]},
        {"name": "b", "failurePolicy": "Fail"},
    ],
)
OURS: dict[str, Any] = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:webhooks": {
        'k:{"name":"a"}': {".": {}, "f:name": {}, "f:failurePolicy": {}, "f:rules": {}},
        'k:{"name":"b"}': {".": {}, "f:name": {}, "f:failurePolicy": {}, "f:clientConfig": {"f:url": {}}},
    },
}


def left_out(document: dict[str, Any], *pointers: str) -> tuple[dict[str, Any], Any, list[str]]:
    notes = Notes(subject="X")
    result, ignored = leave_out(document, pointers, notes)
    return result, ignored, notes.warnings


@pytest.mark.parametrize(
    ("content", "pointers", "sent"),
    [
        ({"spec": {"replicas": 3, "paused": True}}, ["/spec/replicas"], {"spec": {"paused": True}}),
        ({"spec": {"replicas": 3}}, ["/spec/replicas"], {}),
        ({"a": {"b": {"c": 1}}, "d": 1}, ["/a/b/c"], {"d": 1}),
        ({"a": {"x/y": 1, "x~y": 2, "z": 3}}, ["/a/x~1y", "/a/x~0y"], {"a": {"z": 3}}),
        ({"a": [{"n": 0}, {"n": 1}, {"n": 2}]}, ["/a/0", "/a/2"], {"a": [{"n": 1}]}),
        ({"a": [{"n": 0, "v": 1}, {"n": 1, "v": 2}]}, ["/a/1/v", "/a/0"], {"a": [{"n": 1}]}),
        ({"a": [{"n": number} for number in range(12)]}, ["/a/10", "/a/9", "/a/2"], None),
    ],
)
def test_ignored_fields_are_not_sent(content: dict[str, Any], pointers: list[str], sent: dict[str, Any] | None) -> None:
    if sent is None:
        sent = {"a": [{"n": number} for number in range(12) if number not in {2, 9, 10}]}
    result, _, warnings = left_out(content, *pointers)
    assert (result, warnings) == (sent, [])


@pytest.mark.parametrize("pointer", ["/spec/other", "/spec/a/b", "/webhooks/7/failurePolicy", "/webhooks/x"])
def test_ignored_field_that_the_content_lacks_is_told(pointer: str) -> None:
    result, _, warnings = left_out(HOOKS, pointer)
    assert result == HOOKS
    assert warnings == [f"X: spec.overrides[].ignore: {pointer} is not in the content"]


@pytest.mark.parametrize(
    "pointer",
    [
        "/apiVersion",
        "/kind",
        "/status/x",
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/ownerReferences",
        "/metadata/ownerReferences/0/uid",
        "/metadata/finalizers",
        "/metadata/labels",
        "/metadata/annotations",
        "/metadata/labels/core.rukpak.io~1owner-name",
        "/metadata/annotations/core.rukpak.io~1applied",
        "/",
    ],
)
def test_identity_of_an_object_cannot_be_ignored(pointer: str) -> None:
    with pytest.raises(ContentError, match=r"^X: spec\.overrides\[\]\.ignore: .* remove it$"):
        left_out(HOOKS, pointer)


@pytest.mark.parametrize("pointer", ["/spec/args/0", "/spec/rows/0/1", "/spec/rows/1"])
def test_an_item_that_has_no_keys_is_refused(pointer: str) -> None:
    content = {"spec": {"args": ["a"], "rows": [[1, 2], 3]}}
    with pytest.raises(
        ContentError, match=rf"^X: spec\.overrides\[\]\.ignore: {pointer} is an item .* ignore the list$"
    ):
        left_out(content, pointer)
    assert left_out(content, "/spec/args")[0] == {"spec": {"rows": [[1, 2], 3]}}


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("/webhooks/1/failurePolicy", {".": {}, "f:name": {}, "f:clientConfig": {"f:url": {}}}),
        ("/webhooks/1/clientConfig", {".": {}, "f:name": {}, "f:failurePolicy": {}}),
        ("/webhooks/1", None),
    ],
)
def test_an_index_means_the_element_that_the_content_has_there(pointer: str, expected: dict[str, Any] | None) -> None:
    _, ignored, _ = left_out(HOOKS, pointer)
    backwards = {**OURS, "f:webhooks": dict(reversed(OURS["f:webhooks"].items()))}
    left = without_ignored(backwards, ignored)
    assert left["f:webhooks"].get('k:{"name":"b"}') == expected
    assert left["f:webhooks"]['k:{"name":"a"}'] == OURS["f:webhooks"]['k:{"name":"a"}']
    assert left["f:metadata"] == OURS["f:metadata"]


def test_ignored_field_is_released_with_all_below_it_and_an_empty_parent() -> None:
    _, ignored, _ = left_out({"spec": {"replicas": 1, "strategy": {"type": "Recreate"}}}, "/spec/replicas")
    ours: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:strategy": {"f:type": {}}}}
    assert without_ignored(ours, ignored) == {"f:spec": {"f:strategy": {"f:type": {}}}}
    _, ignored, _ = left_out({"spec": {"strategy": {"type": "Recreate"}}}, "/spec/strategy")
    assert without_ignored(ours, ignored) == {"f:spec": {"f:replicas": {}}}
    assert without_ignored({"f:spec": {"f:strategy": {".": {}, "f:type": {}}}}, ignored) == {}


def test_a_field_that_former_content_had_is_given_up_too() -> None:
    _, ignored, _ = left_out({"spec": {}}, "/spec/replicas")
    assert without_ignored({"f:spec": {"f:replicas": {}, "f:x": {}}}, ignored) == {"f:spec": {"f:x": {}}}


def test_a_list_that_is_owned_as_a_whole_is_found() -> None:
    _, ignored, _ = left_out(HOOKS, "/webhooks/0/rules/0/operations", "/webhooks/0/failurePolicy", "/webhooks/0/rules")
    assert below_whole_lists(OURS, ignored) == ["/webhooks/0/rules/0/operations"]
    assert below_whole_lists({"f:webhooks": {}}, ignored) == [one.pointer for one in ignored]
    assert below_whole_lists({}, ignored) == []
