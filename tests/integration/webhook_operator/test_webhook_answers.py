"""Answers of the operator of the e2e bundles to an API server."""

import base64
import json
from typing import Any

import pytest

from tests.integration.webhook_operator.program import GROUP, Json, Program

LARGEST = 2**63 - 1


def gadget(version: str = "v1", **more: Any) -> Json:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": {"name": "g", "uid": "1"}, **more}


@pytest.mark.parametrize(
    ("new", "patch"),
    [
        (gadget(spec={"size": 1}), [{"op": "add", "path": "/spec/color", "value": "blue"}]),
        (gadget(spec={"color": None}), [{"op": "add", "path": "/spec/color", "value": "blue"}]),
        (gadget(), [{"op": "add", "path": "/spec", "value": {"color": "blue"}}]),
        (gadget(spec={"color": "red"}), None),
        (None, None),  # a deletion
    ],
)
def test_a_missing_color_is_defaulted(program: Program, new: Json | None, patch: list[Json] | None) -> None:
    response = program.admit("/mutate", new)
    assert response["allowed"] is True
    if patch is None:
        assert "patch" not in response
    else:
        assert response["patchType"] == "JSONPatch"
        assert json.loads(base64.b64decode(response["patch"])) == patch


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (gadget(spec={"size": -1}), "spec.size must not be negative, got -1"),
        (gadget("v2", spec={"dimensions": {"width": -7}}), "spec.dimensions.width must not be negative, got -7"),
        (gadget(spec={"size": "large"}), 'spec.size must be an integer, got "large"'),
    ],
)
def test_a_wrong_size_is_denied(program: Program, new: Json, message: str) -> None:
    response = program.admit("/validate", new)
    assert response["allowed"] is False
    assert response["status"]["message"] == message


@pytest.mark.parametrize(
    "new",
    [
        gadget(spec={"size": 0}),
        gadget(spec={"size": LARGEST}),
        gadget("v2", spec={"dimensions": {"width": 3}}),
        gadget(spec={}),
        gadget(),
        None,
    ],
)
def test_any_other_size_is_allowed(program: Program, new: Json | None) -> None:
    assert program.admit("/validate", new) == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"size": 3, "color": "red"}, {"dimensions": {"width": 3}, "color": "red"}),
        ({"size": LARGEST}, {"dimensions": {"width": LARGEST}}),
        ({"color": "red"}, {"color": "red"}),
        ({}, {}),
    ],
)
def test_conversion_there_and_back_loses_nothing(program: Program, first: Json, second: Json) -> None:
    one, two = gadget("v1", spec=first, status={"a": [1.5]}), gadget("v2", spec=second, status={"a": [1.5]})
    there = program.convert("v2", one, gadget("v1"), two)
    assert there["result"] == {"status": "Success"}
    assert there["convertedObjects"] == [two, gadget("v2"), two]
    assert program.convert("v1", *there["convertedObjects"])["convertedObjects"] == [one, gadget("v1"), one]


@pytest.mark.parametrize(
    ("object_", "message"),
    [
        (gadget("v3"), f"objects[1]: cannot convert {GROUP}/v3 to {GROUP}/v2"),
        (gadget() | {"apiVersion": "others.example.com/v1"}, "objects[1]: cannot convert others.example.com/v1 to"),
        (gadget() | {"kind": "Widget"}, 'objects[1]: kind "Widget" is not Gadget'),
        (gadget("v1", spec=[]), "objects[1]: spec: "),
    ],
)
def test_object_that_cannot_be_converted_is_named(program: Program, object_: Json, message: str) -> None:
    response = program.convert("v2", gadget(), object_)
    assert response["result"]["status"] == "Failure"
    assert response["result"]["message"].startswith(message)
    assert not response["convertedObjects"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/mutate", b"not JSON", 400),
        ("/validate", b"{}", 400),
        ("/convert", b"{}", 400),
        ("/validate", b'{"kind": "' + b"x" * (16 << 20) + b'"}', 413),
        ("/elsewhere", b"{}", 404),
    ],
)
def test_body_that_is_not_a_review_is_refused(program: Program, path: str, body: bytes, status: int) -> None:
    assert program.post(path, body).status == status
