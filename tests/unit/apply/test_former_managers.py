"""Whose entries in `managedFields` become ours, and whose stay."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply.take_over import rewrite
from tests.unit.apply.lives import OTHER, OWNER

DATA: dict[str, Any] = {"f:data": {"f:x": {}}}
MORE: dict[str, Any] = {"f:data": {"f:y": {}}, "f:metadata": {"f:labels": {".": {}, "f:a": {}}}}


def entry(manager: str, fields: dict[str, Any] | None = None, **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsV1": fields or DATA, **more}


def rewritten(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return rewrite(list(entries), OWNER.manager, "v1")


@pytest.mark.parametrize(
    "manager",
    [
        "helm",
        "Helm",
        "helm-controller",
        "kubectl-client-side-apply",
        "kubectl-edit",
        "kubectl",
        "rukpak",
        OTHER.manager,
        "before-first-apply",
        "manager",
        "core",
        "Go-http-client",
    ],
)
@pytest.mark.parametrize("operation", ["Update", "Apply"])
def test_the_fields_of_those_who_apply_become_ours(manager: str, operation: str) -> None:
    (ours,) = rewritten(entry(manager, operation=operation))
    assert (ours["manager"], ours["operation"], ours["fieldsV1"]) == (OWNER.manager, "Apply", DATA)


@pytest.mark.parametrize(
    "manager", ["kube-controller-manager", "cert-manager-cainjector", "coredns", "manager-of-things", "argocd", ""]
)
def test_the_fields_of_other_controllers_stay_theirs(manager: str) -> None:
    entries = [entry(manager)]
    assert rewrite(entries, OWNER.manager, "v1") is entries


def test_subresources_stay_with_those_who_write_them() -> None:
    status = entry("kubectl", subresource="status")
    assert rewritten(entry("helm"), status)[0] == status
    assert rewritten(status) == [status]


def test_all_former_entries_become_one() -> None:
    (ours,) = rewritten(
        entry("helm", time="2026-01-01T00:00:00Z"), entry("kubectl-edit", MORE, time="2026-01-02T00:00:00Z")
    )
    assert ours["fieldsV1"] == {"f:data": {"f:x": {}, "f:y": {}}, "f:metadata": MORE["f:metadata"]}
    assert ours["time"] == "2026-01-02T00:00:00Z"


def test_an_entry_of_ours_that_was_there_is_in_it() -> None:
    other, ours = rewritten(entry(OWNER.manager, MORE, operation="Apply"), entry("argocd"), entry("helm"))
    assert other["manager"] == "argocd"
    assert ours["fieldsV1"] == {"f:data": {"f:x": {}, "f:y": {}}, "f:metadata": MORE["f:metadata"]}


def test_our_entry_alone_is_left_as_it_is() -> None:
    """Nothing to take over, and so nothing to write."""
    entries = [entry(OWNER.manager, operation="Apply"), entry("argocd")]
    assert rewrite(entries, OWNER.manager, "v1") is entries


def test_nothing_is_invented() -> None:
    assert rewritten() == []
    (ours,) = rewritten({"manager": "helm"})
    assert ours["fieldsV1"] == {}
    assert "time" not in ours


FIELDS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.just({}), lambda inner: st.dictionaries(st.sampled_from(["f:a", "f:b", "."]), inner, max_size=3), max_leaves=8
)
ENTRIES = st.lists(
    st.builds(entry, st.sampled_from(["helm", "kubectl-edit", "argocd", OWNER.manager]), FIELDS), max_size=4
)


def paths(fields: dict[str, Any], prefix: str = "") -> set[str]:
    return {prefix} | {path for name, inner in fields.items() for path in paths(inner, f"{prefix}/{name}")}


@given(ENTRIES)
def test_no_field_is_lost_and_rewriting_again_changes_nothing(entries: list[dict[str, Any]]) -> None:
    before = {path for one in entries for path in paths(one["fieldsV1"])}
    after = rewrite(entries, OWNER.manager, "v1")
    assert {path for one in after for path in paths(one["fieldsV1"])} == before
    assert sum(one["manager"] == OWNER.manager for one in after) <= max(
        1, sum(one["manager"] == OWNER.manager for one in entries)
    )
    assert rewrite(after, OWNER.manager, "v1") == after
