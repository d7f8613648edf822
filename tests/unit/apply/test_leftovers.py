"""Objects that may be deleted for a deployment that is gone: exactly those that the garbage collector would delete."""

from typing import Any

import pytest

from rukpak_py.api.names import OWNER_UID_ANNOTATION
from rukpak_py.apply.orphan_cleanup import is_left_behind
from tests.unit.apply.lives import OTHER, OWNER, REPLICA_SET, live, owned

SECOND_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "uid-of-a"}
CASES: dict[str, tuple[dict[str, Any], bool]] = {
    "controlled by the deployment": (owned(), True),
    "held by a finalizer of its own": (owned(finalizers=["example.com/held"]), True),
    "of another deployment": (owned(by=OTHER), False),
    "with another owner, too": (owned(ownerReferences=[OWNER.reference, SECOND_OWNER]), False),
    "controlled by somebody else": (owned(ownerReferences=[REPLICA_SET]), False),
    "released: the references were taken off": (owned(ownerReferences=[]), False),
    "owned, not controlled": (owned(ownerReferences=[{**OWNER.reference, "controller": False}]), False),
    "outlives its deployment": (owned(ownerReferences=[], annotations={OWNER_UID_ANNOTATION: OWNER.uid}), False),
    "being deleted": (owned(deletionTimestamp="2001-01-01T00:00:00Z"), False),
    "its own dependents are to be orphaned": (owned(finalizers=["orphan"]), False),
    "its own dependents go first": (owned(finalizers=["foregroundDeletion"]), False),
}


@pytest.mark.parametrize(("fields", "expected"), CASES.values(), ids=CASES)
def test_object_is_left_behind_only_where_the_collector_would_delete_it(fields: dict[str, Any], expected: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_left_behind(live(**fields), OWNER.uid) is expected
