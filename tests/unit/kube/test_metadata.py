"""Metadata is read from whatever the server sends."""

import orjson
import pytest

from rukpak_py.kube.metadata import decode_metadata, field_hash

OURS = b'{"f:data":{"f:a":{}}}'


def test_null_counts_as_absent() -> None:
    names = ("labels", "annotations", "ownerReferences", "finalizers", "managedFields")
    metadata = decode_metadata(orjson.dumps({"metadata": {"creationTimestamp": None, **dict.fromkeys(names)}}))

    assert (metadata.labels, metadata.annotations) == ({}, {})
    assert (metadata.owner_references, metadata.finalizers, metadata.managed_fields) == ([], [], [])
    assert not metadata.is_deleted


@pytest.mark.parametrize("json", [b"{}", b'{"metadata":null}', b'{"metadata":{"future":{"x":[1]}},"spec":{"a":1}}'])
def test_missing_and_unknown_parts_are_fine(json: bytes) -> None:
    metadata = decode_metadata(json)

    assert (metadata.name, metadata.version, metadata.controller) == ("", 0, None)


def test_the_controller_is_one_of_the_owners() -> None:
    owners = [{"uid": "a"}, {"uid": "b", "controller": True}, {"uid": "c", "controller": None}]
    metadata = decode_metadata(orjson.dumps({"metadata": {"ownerReferences": owners}}))

    assert metadata.controller is not None
    assert metadata.controller.uid == "b"


def entry(fields: bytes, manager: str, operation: str, **more: object) -> dict[str, object]:
    return {"manager": manager, "operation": operation, "fieldsV1": orjson.Fragment(fields), **more}


def managed(*entries: dict[str, object]) -> bytes:
    return orjson.dumps({"metadata": {"managedFields": list(entries)}})


def test_the_hash_is_of_our_apply_entry_without_subresource() -> None:
    alone = field_hash(decode_metadata(managed(entry(OURS, "us", "Apply"))), "us")
    crowd = managed(
        entry(b'{"f:x":{}}', "us", "Update"),
        entry(b'{"f:y":{}}', "us", "Apply", subresource="status"),
        entry(b'{"f:z":{}}', "them", "Apply"),
        entry(OURS, "us", "Apply", subresource="", time="2026-01-01T00:00:00Z"),
    )

    assert alone is not None
    assert field_hash(decode_metadata(crowd), "us") == alone
    assert field_hash(decode_metadata(managed(entry(OURS, "us", "Update"))), "us") is None
    assert field_hash(decode_metadata(managed(entry(b'{"f:data":{"f:b":{}}}', "us", "Apply"))), "us") != alone


def test_versions_compare_as_numbers() -> None:
    versions = [decode_metadata(orjson.dumps({"metadata": {"resourceVersion": v}})).version for v in ("9", "10", "x")]

    assert versions == [9, 10, 0]


def test_an_object_that_nests_too_deeply_for_decoders_has_metadata_all_the_same() -> None:
    depth = 9_000
    json = b'{"spec":' + b'{"a":' * depth + b"{}" + b"}" * depth + b',"metadata":{"name":"deep"}}'
    assert decode_metadata(json).name == "deep"
