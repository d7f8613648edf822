"""Values of Secrets that an upgrade changes, and those of them that come out differently each time."""

import base64
import json
from typing import Any

import pytest

from rukpak_py.apply.secret_values import ChangedValue, Comparison, changed_values, values_of
from rukpak_py.core.objects import ObjectKey

LOGIN = ObjectKey("", "Secret", "shop", "login")
OTHER = ObjectKey("", "Secret", "other", "login")
CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"


def changed(live: bytes, wanted: bytes, *, secret: ObjectKey = LOGIN) -> ChangedValue:
    return ChangedValue(secret=secret, key="k", live=live, wanted=wanted)


def test_only_values_that_are_there_and_become_others_have_changed() -> None:
    live = {LOGIN: {"same": b"1", "gone": b"2", "k": b"3"}, OTHER: {"k": b"4"}}
    wanted = {LOGIN: {"same": b"1", "new": b"5", "k": b"6"}}
    assert changed_values(live, wanted) == [changed(b"3", b"6")]


def of(value: bytes | None) -> dict[ObjectKey, dict[str, bytes]]:
    return {LOGIN: {"k": value}} if value is not None else {}


@pytest.mark.parametrize(
    ("before", "installed", "wanted", "is_generated"),
    [
        (b"old", b"old", b"new", False),  # a value that the user or the chart has changed
        (b"old", b"other", b"new", True),  # what is installed is random
        (None, b"other", b"new", True),  # and its rendering is lost
        (None, b"old", b"new", False),
        (b"vault:1", b"vault:1", b"new", False),  # an admission webhook has replaced the live value
        (None, b"new", b"new", False),
        (b"old", b"old", b"other", True),  # what is wanted is random
        (None, None, b"new", False),  # what is installed does not have it
        (None, None, b"other", True),
        (None, None, None, False),
    ],
)
def test_a_value_is_generated_when_the_same_content_gives_another(
    before: bytes | None, installed: bytes | None, wanted: bytes | None, *, is_generated: bool
) -> None:
    compared = Comparison(before=of(before), installed=of(installed), wanted=of(wanted))
    assert compared.is_generated(changed(b"old", b"new")) is is_generated


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        (CERTIFICATE, CERTIFICATE + b"x", True),
        (b"\n-----BEGIN RSA PRIVATE KEY-----\nx", b"-----BEGIN PRIVATE KEY-----\ny", True),
        (b"-----BEGIN EC PRIVATE KEY-----", b"-----BEGIN ENCRYPTED PRIVATE KEY-----", True),
        (CERTIFICATE, b"password", False),
        (b"password", CERTIFICATE, False),
        (b"-----BEGIN PGP MESSAGE-----", b"-----BEGIN PGP MESSAGE-----x", False),
        (b"password -----BEGIN CERTIFICATE-----", CERTIFICATE, False),
    ],
)
def test_certificates_and_keys_are_so_before_and_after(live: bytes, wanted: bytes, *, expected: bool) -> None:
    assert changed(live, wanted).is_certificate is expected


def test_no_value_is_printed() -> None:
    one = changed(b"hidden-before", b"hidden-after", secret=OTHER)
    assert (str(one), one.entry("shop"), one.entry("other")) == (
        "Secret other/login, key k",
        "other/login/k",
        "login/k",
    )
    assert "hidden" not in repr(one)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ({}, {}),
        ({"data": None, "stringData": None}, {}),
        ({"data": {"a": base64.b64encode(b"\xff").decode()}}, {"a": b"\xff"}),
        ({"data": {"a": "MQ=="}, "stringData": {"a": "2"}}, {"a": b"2"}),
        ({"data": {"a": "MTIz\nNDU2\n"}}, {"a": b"123456"}),
        ({"data": {"a": "no base64!", "b": 5, "c": "MQ=="}, "stringData": {"d": 5}}, {"c": b"1"}),
    ],
)
def test_values_of_a_secret_are_decoded(manifest: dict[str, Any], expected: dict[str, bytes]) -> None:
    assert values_of(json.dumps(manifest).encode()) == expected
