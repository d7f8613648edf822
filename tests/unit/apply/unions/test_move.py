"""The manager of a member before the apply that removes it."""

from typing import Any

import orjson
import pytest

from rukpak_py.apply.unions.move import DEEPEST, UnionSwitch, union_switch
from rukpak_py.core.objects import GroupVersionKind
from tests.unit.apply.lives import OWNER, managed

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
TYPE: dict[str, Any] = {"f:spec": {"f:strategy": {"f:type": {}}}}
SURGE: dict[str, Any] = {"f:spec": {"f:strategy": {"f:rollingUpdate": {"f:maxSurge": {}}}}}
WHOLE: dict[str, Any] = {
    "f:spec": {"f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}}}
}
OF_V1 = {"apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
WANTED = {"metadata": {"name": "a"}, "spec": {"strategy": {"type": "Recreate"}}}


def entry(manager: str, fields: Any, **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", **OF_V1, "fieldsV1": fields, **more}


def switch(*entries: dict[str, Any], wanted: Any = None, **live: Any) -> UnionSwitch | None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    body = {
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "managedFields": list(entries)},
        "spec": {"strategy": rolling},
        **live,
    }
    return union_switch(orjson.dumps(body), wanted or WANTED, DEPLOYMENT, OWNER.manager)


def entries_after(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    found = switch(*entries)
    assert found is not None
    assert (found.uid, found.version) == ("u", 7)
    version, fields = found.move
    assert version == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}
    assert (fields["op"], fields["path"]) == ("add", "/metadata/managedFields")
    moved: list[dict[str, Any]] = fields["value"]
    return moved


def test_a_default_becomes_ours() -> None:
    assert entries_after(managed(OWNER, {"f:spec": {"f:replicas": {}}})) == [
        managed(OWNER, {"f:spec": {"f:replicas": {}, **WHOLE["f:spec"]}}, **OF_V1)
    ]


def test_another_manager_loses_the_member_and_nothing_else() -> None:
    both = {"f:spec": {"f:strategy": {**TYPE["f:spec"]["f:strategy"], **SURGE["f:spec"]["f:strategy"]}}}
    assert entries_after(entry("theirs", both)) == [
        entry("theirs", TYPE),
        managed(OWNER, WHOLE, **OF_V1),
    ]


def test_a_manager_that_has_nothing_left_has_no_entry() -> None:
    assert entries_after(entry("theirs", SURGE, operation="Apply")) == [managed(OWNER, WHOLE, **OF_V1)]


def test_subresources_keep_what_they_have() -> None:
    status = entry("controller", SURGE, subresource="status")
    assert entries_after(status) == [status, managed(OWNER, WHOLE, **OF_V1)]


def test_an_update_under_our_name_is_anothers() -> None:
    assert entries_after(entry(OWNER.manager, SURGE)) == [managed(OWNER, WHOLE, **OF_V1)]


def test_member_that_is_ours_alone_is_not_moved_again() -> None:
    """The apply removes it: a refusal has another reason."""
    assert switch(managed(OWNER, WHOLE)) is None


def test_without_a_member_to_go_nothing_is_moved() -> None:
    assert switch(managed(OWNER, TYPE), wanted={"metadata": {}, "spec": {}}) is None


def test_the_outcome_has_no_such_member() -> None:
    found = switch(entry("theirs", SURGE))
    assert found is not None
    assert found.outcome == [{"op": "add", "path": "/spec", "value": {"strategy": {"type": "Recreate"}}}]


@pytest.mark.parametrize("fields", [None, [], 5, {"f:spec": []}, {'k:{"': {}}, {"k:[]": 1}])
def test_entries_that_are_no_sets_of_fields_do_no_harm(fields: Any) -> None:
    assert entries_after(entry("theirs", fields))[-1] == managed(OWNER, WHOLE, **OF_V1)


def test_an_object_that_nests_too_deeply_is_left_to_the_server() -> None:
    deep: Any = {}
    for _ in range(DEEPEST):
        deep = {"f:x": deep}
    assert switch(entry("theirs", deep)) is None
    text = b'{"metadata":{"name":"a"},"spec":' + b'{"x":' * 5000 + b"1" + b"}" * 5000 + b"}"
    assert union_switch(text, WANTED, DEPLOYMENT, OWNER.manager) is None
