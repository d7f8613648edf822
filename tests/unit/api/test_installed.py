"""The installed content, read from a status of this release or of one before it."""

from typing import Any

import msgspec
import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation, InstallOutcome
from rukpak_py.api.installed import Installed, installed_of


def status(*history: dict[str, Any], **fields: Any) -> BundleDeploymentStatus:
    entries = [{"bundle": "b", "digest": "d", "time": "t", **entry} for entry in history]
    return msgspec.convert({"history": entries, **fields}, BundleDeploymentStatus)


def installed(*history: dict[str, Any], **fields: Any) -> Installed:
    found = installed_of(status(*history, **{"activeBundle": "b", **fields}))
    assert found is not None
    return found


def test_nothing_is_installed() -> None:
    assert installed_of(status()) is None


def test_content_of_the_original_operator_has_no_entry() -> None:
    found = installed()
    assert (found.bundle, found.entry, found.template) == ("b", None, None)
    assert found.is_of_original_operator
    assert found.was_taken_over


def test_fields_of_the_status_stand_beside_the_newest_entry() -> None:
    found = installed({"digest": "new"}, {"digest": "old"}, digest="new", appliedDigest="v2:x")
    assert (found.digest, found.applied_digest) == ("new", "v2:x")
    assert found.entry is found.history[0]
    assert [entry.digest for entry in found.history] == ["new", "old"]
    assert not found.is_of_original_operator


def test_successor_of_content_of_the_original_operator_was_taken_over() -> None:
    assert installed({}, {"takenOver": True}).was_taken_over
    assert not installed({}, {}).was_taken_over


@pytest.mark.parametrize(
    ("recorded", "read"),
    [
        ((0, 0, 0), (3, 2, 1)),
        ((7, 6, 5), (7, 6, 5)),
        ((3, 0, 0), (3, 2, 1)),
        ((), ()),
    ],
    ids=["a former release", "this release", "this release after a former one", "nothing"],
)
def test_revisions_that_are_not_recorded_are_counted_from_the_oldest(
    recorded: tuple[int, ...], read: tuple[int, ...]
) -> None:
    found = installed(*({"revision": revision} for revision in recorded))
    assert tuple(entry.revision for entry in found.history) == read


def test_an_entry_without_an_outcome_was_healthy() -> None:
    found = installed({"outcome": "Failed"}, {})
    assert [entry.outcome for entry in found.history] == [InstallOutcome.FAILED, InstallOutcome.HEALTHY]


def test_a_template_of_another_bundle_is_not_that_of_what_is_installed() -> None:
    source = {"type": "upload", "upload": {}}
    template = {"spec": {"provisionerClassName": "x", "source": source}}
    assert installed({"template": template}).template is not None
    assert installed({"template": template}, activeBundle="another").template is None


def test_fields_of_entries_have_kept_their_types() -> None:
    """An entry of the release before is read as it was written."""
    body = b"""{"bundle": "b", "digest": "d", "time": "t", "config": {"a": 1}, "renderingDigest": "r",
        "options": {"config": {"a": 1}, "configDigest": "c", "valuesFrom": []}, "takenOver": true}"""
    entry = msgspec.json.decode(body, type=Installation)
    assert entry.config == {"a": 1}
    assert entry.options is not None
    assert (entry.options.config, entry.options.config_digest) == ({"a": 1}, "c")
