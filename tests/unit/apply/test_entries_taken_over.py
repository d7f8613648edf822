"""`managedFields` before the first apply: the fields of the content ours alone, all others as they were."""

from typing import Any

from rukpak_py.api.names import RELEASED_ANNOTATION
from rukpak_py.apply.take_over import UPSTREAM_MANAGERS, entries_taken_over
from rukpak_py.kube.metadata import Entry
from tests.unit.apply.lives import OWNER, managed, metadata

OURS: dict[str, Any] = {"f:data": {"f:x": {}}}
THEIRS: dict[str, Any] = {"f:data": {"f:theirs": {}}}
BOTH: dict[str, Any] = {"f:data": {".": {}, "f:theirs": {}, "f:x": {}}}


def entry(manager: str, fields: dict[str, Any], **more: str) -> Entry:
    head = {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**head, "fieldsV1": fields, **more}


def ours(fields: dict[str, Any], **more: str) -> Entry:
    return {**managed(OWNER, fields), "apiVersion": "v1", "fieldsType": "FieldsV1", **more}


def taken_over(
    *others: Entry, before: list[Entry] | None = None, everything_of: frozenset[str] = frozenset()
) -> list[Entry] | None:
    """`others`: as the dry run answers, beside our own entry."""
    return entries_taken_over(
        metadata(managedFields=before if before is not None else list(others)),
        metadata(managedFields=[ours(OURS), *others]),
        manager=OWNER.manager,
        api_version="v1",
        everything_of=everything_of,
    )


def test_manager_of_fields_of_the_content_loses_them() -> None:
    assert taken_over(entry("kubectl-create", OURS)) == [ours(OURS)]


def test_manager_of_other_fields_keeps_them() -> None:
    left: dict[str, Any] = {"f:data": {".": {}, "f:theirs": {}}}
    time = "2026-01-01T00:00:00Z"
    assert taken_over(entry("kubectl-create", BOTH, time=time)) == [
        entry("kubectl-create", left, time=time),
        ours(OURS),
    ]


def test_by_apply_or_by_update() -> None:
    assert taken_over(entry("argocd", OURS, operation="Apply")) == [ours(OURS)]
    assert taken_over(entry(OWNER.manager, OURS)) == [ours(OURS)], "an update under our name is not our apply"


def test_the_mark_of_what_was_released_goes_with_the_apply() -> None:
    mark: dict[str, Any] = {"f:metadata": {"f:annotations": {".": {}, f"f:{RELEASED_ANNOTATION}": {}}}}
    more: dict[str, Any] = {"f:metadata": {"f:annotations": {".": {}, f"f:{RELEASED_ANNOTATION}": {}, "f:a": {}}}}
    left: dict[str, Any] = {"f:metadata": {"f:annotations": {".": {}, "f:a": {}}}}
    found = entries_taken_over(
        metadata(annotations={RELEASED_ANNOTATION: "v1:x"}, managedFields=[ours(OURS)]),
        metadata(managedFields=[ours(OURS), entry("rukpak", mark), entry("kubectl-annotate", more)]),
        manager=OWNER.manager,
        api_version="v1",
        everything_of=frozenset(),
    )
    mine = {**OURS, "f:metadata": {"f:annotations": {f"f:{RELEASED_ANNOTATION}": {}}}}
    assert found == [entry("kubectl-annotate", left), ours(mine)]


def test_without_a_field_in_common_nothing_is_written() -> None:
    assert taken_over() is None
    assert taken_over(entry("injector", THEIRS)) is None


def test_subresources_and_other_versions_keep_what_they_have() -> None:
    status = entry("kubelet", OURS, subresource="status")
    old = entry("kubectl-create", OURS, apiVersion="v1beta1")
    assert taken_over(status, old) is None
    assert taken_over(status, old, entry("helm", OURS)) == [status, old, ours(OURS)]


def test_field_that_we_owned_before_stays_ours_so_that_the_apply_removes_it() -> None:
    former: dict[str, Any] = {"f:data": {"f:dropped": {}, "f:x": {}}}
    found = taken_over(entry("helm", OURS), before=[ours(former), entry("helm", OURS)])
    assert found == [ours(former)]


def test_fields_that_we_owned_in_another_version_do_not_count() -> None:
    former = ours({"f:data": {"f:dropped": {}}}, apiVersion="v1beta1")
    assert taken_over(entry("helm", OURS), before=[former]) == [ours(OURS)]


def test_everything_of_the_original_operator_becomes_ours() -> None:
    found = taken_over(
        *(entry(name, BOTH) for name in sorted(UPSTREAM_MANAGERS)),
        entry("kubectl-patch", THEIRS),
        everything_of=UPSTREAM_MANAGERS,
    )
    assert found == [entry("kubectl-patch", THEIRS), ours(BOTH)]


def test_an_entry_without_fields_is_left_out() -> None:
    bare = {"manager": "helm", "operation": "Update", "apiVersion": "v1"}
    assert taken_over(bare, entry("kubectl-create", OURS)) == [ours(OURS)]
