"""A status write is the smallest patch that makes the new status of the old one, or no request at all."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.names import BUNDLE_KIND
from rukpak_py.api.reading import read_bundle, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.writes import StatusWriter, WriteResult, merge_patch
from rukpak_py.kube.errors import StaleError
from rukpak_py.kube.resources import BUNDLES
from tests.unit.controllers.fakes import FakeClient, merged
from tests.unit.controllers.values import bundle, unpacked

VALUES = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


def writer(client: FakeClient) -> StatusWriter[Bundle]:
    return StatusWriter(client.as_client(), BUNDLES, Cache(clock=lambda: 0.0))


@given(OBJECTS, OBJECTS)
def test_the_patch_makes_the_new_of_the_old(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, merge_patch(old, new)) == new


@given(OBJECTS, OBJECTS)
def test_the_patch_is_empty_exactly_when_nothing_changed(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert (merge_patch(old, new) == {}) is (old == new)


@given(OBJECTS, OBJECTS)
def test_the_patch_names_only_what_changed(old: dict[str, Any], new: dict[str, Any]) -> None:
    for name in merge_patch(old, new):
        assert old.get(name) != new.get(name)


@given(OBJECTS)
def test_the_values_themselves_are_not_touched(value: dict[str, Any]) -> None:
    before = repr(value)
    merge_patch(value, {})
    merge_patch({}, value)
    assert repr(value) == before


async def test_a_status_that_is_as_it_was_costs_nothing() -> None:
    client, one = FakeClient(), unpacked()
    assert (await writer(client).write(one, one.status)).result is WriteResult.UNCHANGED
    assert client.calls == []


async def test_the_stored_status_is_the_new_one() -> None:
    client, old = FakeClient(), bundle()
    client.put(BUNDLE_KIND, to_json(old))
    new = unpacked().status
    written = await writer(client).patch(old, new)
    assert written.status == new
    assert written.metadata.resource_version != old.metadata.resource_version
    assert client.calls == ["status Bundle b"]
    assert read_bundle(client.objects[BUNDLE_KIND, "b"]).status == new
    await writer(client).patch(written, BundleStatus())
    assert read_bundle(client.objects[BUNDLE_KIND, "b"]).status == BundleStatus(), "what is no longer said goes"


async def test_a_status_never_lands_on_another_object_of_the_name() -> None:
    client = FakeClient()
    before = client.put(BUNDLE_KIND, to_json(bundle(uid="another")))
    try:
        await writer(client).patch(replace(bundle(), status=BundleStatus()), unpacked().status)
    except StaleError:
        assert client.objects[BUNDLE_KIND, "b"] == before
    else:
        raise AssertionError
