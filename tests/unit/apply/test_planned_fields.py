"""Fields that a change gives other values: what is named of them, and what is never shown."""

import hashlib
from typing import Any

import orjson
import pytest

from rukpak_py.api.names import APPLIED_ANNOTATION
from rukpak_py.apply.ignored import IgnoredField
from rukpak_py.apply.planned_fields import FieldChanges, changed_fields
from rukpak_py.apply.upgrade_document import FIELDS_OF_OBJECT, PATH_CHARACTERS, VALUE_CHARACTERS, PlannedField
from rukpak_py.core.masking import Mask
from rukpak_py.core.nesting import ACCEPTED
from tests.manifests import Document, config_map, manifest, workload

PASSWORD = "correct-horse-battery"


def changes(old: Document, new: Document, **more: Any) -> FieldChanges:
    given = {"hide": lambda text: text, "digest": lambda value: hashlib.sha256(value).hexdigest()} | more
    return changed_fields(orjson.dumps(old), orjson.dumps(new), **given)


def test_fields_are_named_with_both_values() -> None:
    old, new = config_map("a", "ns", kept="1", changed="1", removed="1"), config_map("a", "ns", kept="1", changed="2")
    new["data"]["added"] = "new"
    assert [(one.path, one.change, one.old, one.new) for one in changes(old, new).fields] == [
        ("data.changed", "changed", '"1"', '"2"'),
        ("data.removed", "removed", '"1"', None),
        ("data.added", "added", None, '"new"'),
    ]


def test_metadata_of_the_server_and_the_mark_of_the_last_apply_are_no_fields() -> None:
    old, new = config_map("a", "ns"), config_map("a", "ns")
    old["metadata"] |= {"uid": "1", "resourceVersion": "1", "generation": 1, "annotations": {APPLIED_ANNOTATION: "x"}}
    new["metadata"] |= {"uid": "1", "resourceVersion": "2", "generation": 2, "annotations": {APPLIED_ANNOTATION: "y"}}
    assert changes({**old, "status": {"phase": "old"}}, {**new, "status": {}}).fields == ()


def test_values_of_secrets_are_digests_whatever_names_them() -> None:
    def secret(value: str) -> Document:
        last_applied = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":"{value}"}}'}
        found = manifest("v1", "Secret", "s", "ns", data={"password": value}, stringData={"other": value})
        found["metadata"]["annotations"] = last_applied
        return found

    found = changes(secret("b2xkLXBhc3N3b3Jk"), secret("bmV3LXBhc3N3b3Jk"))
    assert {one.path: one.secret for one in found.fields} == {
        "data.password": True,
        "stringData.other": True,
        'metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]': True,
    }
    assert "LXBhc3N3b3Jk" not in repr(found)
    assert all(one.old != one.new for one in found.fields)


def test_secret_values_in_other_objects_are_masked_before_anything_is_cut() -> None:
    long = "x" * (VALUE_CHARACTERS - len(PASSWORD) // 2)
    old, new = config_map("a", "ns", v="1", w="1"), config_map("a", "ns", v=f"--{PASSWORD}", w=f"{long}{PASSWORD}")
    new["data"][PASSWORD] = "a key of it"
    found = changes(old, new, hide=Mask([PASSWORD]).hide)
    assert len(found.fields) == 3
    assert PASSWORD[:12] not in repr(found)


def test_middle_of_a_long_secret_value_is_masked() -> None:
    secret = "".join(f"{number:04x}" for number in range(VALUE_CHARACTERS))
    begin = secret[: 2 * VALUE_CHARACTERS]
    found = changes(config_map("a", "ns", v=f"{begin}old"), config_map("a", "ns", v=secret), hide=Mask([secret]).hide)
    (one,) = found.fields
    assert one.old is not None
    assert one.new is not None
    assert not {secret[at : at + 8] for at in range(len(secret))} & {one.new[at : at + 8] for at in range(len(one.new))}
    assert begin[-20:] not in one.old


def test_secret_at_a_cut_of_a_long_path_is_masked() -> None:
    for before in range(3_970, 4_001):
        (one,) = changes(
            config_map("a", "ns"), config_map("a", "ns", **{"k" * before + PASSWORD: "v"}), hide=Mask([PASSWORD]).hide
        ).fields
        assert PASSWORD[:6] not in one.path


def test_long_value_is_shown_where_it_begins_to_differ() -> None:
    same = "same " * 100_000
    (found,) = changes(config_map("a", "ns", v=f"{same}old"), config_map("a", "ns", v=f"{same}new")).fields
    assert found.old is not None
    assert found.new is not None
    assert found.new.startswith("…")
    assert found.old.endswith('old"')
    assert found.new.endswith('new"')
    assert len(found.new) <= VALUE_CHARACTERS + 2


def test_fields_beyond_the_limit_are_counted() -> None:
    new = config_map("a", "ns", **{f"k{number}": "v" for number in range(FIELDS_OF_OBJECT + 7)})
    found = changes(config_map("a", "ns", other="v"), new)
    assert (len(found.fields), found.left_out) == (FIELDS_OF_OBJECT, 8)
    (long,) = changes(config_map("a", "ns"), config_map("a", "ns", **{"k" * 9_999: "v"})).fields
    assert len(long.path) <= PATH_CHARACTERS


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize("form", ["[%s]", '{"a":%s}'])
def test_values_that_nest_deeply_are_compared(form: str, kind: str) -> None:
    def side(leaf: str) -> bytes:
        for _ in range(ACCEPTED):
            leaf = form % leaf
        return f'{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"a"}},"data":{leaf}}}'.encode()

    def found(old: bytes, new: bytes) -> tuple[PlannedField, ...]:
        return changed_fields(old, new, hide=str, digest=lambda value: hashlib.sha256(value).hexdigest()).fields

    flat = f'{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"a"}},"data":3}}'.encode()
    assert len(found(side("1"), side("2"))) == 1
    assert found(side("1"), side("1")) == ()
    (one,) = found(side("1"), flat)
    assert one.old is not None
    assert len(one.old) < VALUE_CHARACTERS


def test_differences_are_not_counted_forever() -> None:
    found = changes(config_map("a", "ns"), config_map("a", "ns", **{f"k{number}": "v" for number in range(30_000)}))
    assert len(found.fields) == FIELDS_OF_OBJECT
    assert found.left_out == 10_000 - FIELDS_OF_OBJECT


@pytest.mark.parametrize("steps", [("spec", "replicas"), ("spec",)])
def test_ignored_fields_stay_as_they_are(steps: tuple[str, ...]) -> None:
    old, new = workload("w", "ns"), workload("w", "ns")
    old["spec"]["replicas"], new["spec"]["replicas"] = 3, 1
    assert [one.path for one in changes(old, new).fields] == ["spec.replicas"]
    ignored = [IgnoredField(pointer=f"/{'/'.join(steps)}", steps=steps)]
    assert changes(old, new, ignored=ignored).fields == ()


def test_ignored_field_of_an_element_is_found_by_the_name_of_the_element() -> None:
    old, new = workload("w", "ns"), workload("w", "ns")
    containers = new["spec"]["template"]["spec"]["containers"]
    element = dict(containers[0])
    containers[0] = {**element, "image": "other"}
    steps = ("spec", "template", "spec", "containers", element, "image")
    assert len(changes(old, new).fields) == 1
    assert changes(old, new, ignored=[IgnoredField(pointer="/x", steps=steps)]).fields == ()
