"""No copy under another name, and of no other deployment, is taken for an object of a deployment."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.names import APPLIED_ANNOTATION
from rukpak_py.apply.marks import applied_value, identity, read_applied
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.core.objects import ObjectKey
from tests.unit.apply.lives import OTHER, OWNER, key, live, owned

NAMES = st.text("ab./-", max_size=4)
KEYS = st.builds(ObjectKey, NAMES, NAMES, NAMES, NAMES)


def applied_as(of: ObjectKey, uid: str = OWNER.uid, name: str = "a", **more: Any) -> ObservedObject:
    return live(**owned(name, annotations={APPLIED_ANNOTATION: applied_value(identity(uid, of), "sha256:1")}, **more))


@given(KEYS, KEYS, st.sampled_from("uv"), st.sampled_from("uv"))
def test_every_object_of_every_deployment_has_its_own(one: ObjectKey, other: ObjectKey, u: str, v: str) -> None:
    assert (identity(u, one) == identity(v, other)) == ((u, one) == (v, other))


@given(st.text("0123abc:v2sha", max_size=30))
def test_any_value_is_read(value: str) -> None:
    identified, digest = read_applied(value)
    if value.startswith("v2:"):
        assert identified, "it is not of the former form"
    else:
        assert (identified, digest) == ("", value)


def test_written_annotation_is_read_back() -> None:
    assert read_applied(applied_value("0" * 32, "sha256:1")) == ("0" * 32, "sha256:1")


def test_of_a_digest_that_is_the_same_nothing_else_is_looked_at() -> None:
    assert applied_as(key()).applied == live(**owned(annotations={APPLIED_ANNOTATION: "sha256:1"})).applied


@pytest.mark.parametrize(
    ("found", "is_proven"),
    [
        (applied_as(key()), True),
        (live(**owned()), True),  # the former form
        (applied_as(key("b")), False),
        (applied_as(key(namespace="other")), False),
        (applied_as(key(), OTHER.uid), False),
        (applied_as(key(), managedFields=[]), False),
        (live(**owned(managedFields=[])), False),
        (live(**owned(annotations={APPLIED_ANNOTATION: ""})), False),
        (live(**owned(annotations={APPLIED_ANNOTATION: "v2:"})), False),
    ],
)
def test_object_is_proven_by_the_annotation_for_it(found: ObservedObject, *, is_proven: bool) -> None:
    assert found.is_proven_of(OWNER.uid) is is_proven
