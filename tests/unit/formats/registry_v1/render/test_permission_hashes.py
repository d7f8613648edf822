"""Names of roles are hashes of permissions: any of them, against the same rule written in another form."""

import hashlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.formats.registry_v1.bundle import CsvPermission
from rukpak_py.formats.registry_v1.render.rbac import permission_hash

OPTIONAL = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=3)
RULES = st.fixed_dictionaries({"verbs": st.none() | TEXTS}, optional=dict.fromkeys(OPTIONAL, st.none() | TEXTS))
PERMISSIONS = st.builds(
    CsvPermission,
    service_account=st.text("ab<&\u00e9", max_size=4),
    rules=st.none() | st.lists(RULES, max_size=3),
    path=st.just(()),
)


def model(permission: CsvPermission) -> int:
    """The number whose digits are the hash."""
    rules = None if permission.rules is None else [hashed_rule(rule) for rule in permission.rules]
    value = {"serviceAccountName": permission.service_account, "rules": rules}
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return int(hashlib.sha224(f"{text}\n".encode()).hexdigest(), 16)


def hashed_rule(rule: dict[str, Any]) -> dict[str, Any]:
    return {"verbs": rule["verbs"], **{name: rule[name] for name in OPTIONAL if rule.get(name)}}


@given(PERMISSIONS)
def test_the_hash_of_any_permission_is_that_of_its_json(permission: CsvPermission) -> None:
    found = permission_hash(permission)
    assert int(found, 36) == model(permission)
    assert found == found.lower().lstrip("0")
    assert len(found) <= 44


@given(PERMISSIONS, PERMISSIONS)
def test_only_equal_permissions_have_equal_hashes(first: CsvPermission, second: CsvPermission) -> None:
    assert (permission_hash(first) == permission_hash(second)) == (model(first) == model(second))


@given(PERMISSIONS)
def test_unknown_and_empty_fields_do_not_change_the_hash(permission: CsvPermission) -> None:
    rules = permission.rules and [{**{key: [] for key in OPTIONAL}, **rule, "new": 1} for rule in permission.rules]
    more = CsvPermission(service_account=permission.service_account, rules=rules, path=())
    assert permission_hash(more) == permission_hash(permission)
