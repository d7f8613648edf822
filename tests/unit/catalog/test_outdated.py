"""Installed bundles compared with a catalog."""

import pytest

from rukpak_py.catalog.upgrades.outdated import Comparison, InstalledPackage, State, compare
from rukpak_py.catalog.upgrades.refusal import Cause
from tests.unit.catalog.catalogs import catalog, entry, packages

FOUND = packages(
    catalog(
        {
            "a": [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0")],
            "b": [entry("1.0.0"), entry("2.0.0", skip_range=">=1.2.0 <2.0.0")],
            "c": [entry("2.0.0"), entry("1.2.0", "2.0.0"), entry("2.1.0", "1.2.0", ["1.2.0"])],
        },
        deprecated={"1.0.0": "has a leak", "b": "use a"},
    )
)


def compared(package: str, version: str, channel: str | None = None) -> Comparison:
    (found,) = compare([InstalledPackage(package=package, version=version, channel=channel)], FOUND)
    return found


@pytest.mark.parametrize(
    ("version", "channel", "state", "following"),
    [
        ("1.2.0", None, State.UP_TO_DATE, None),
        ("1.0.0", None, State.UPGRADABLE, "1.1.0"),
        ("1.2.0", "b", State.UPGRADABLE, "2.0.0"),  # from another channel, by the range
        ("1.1.0", "b", State.NOT_IN_CHANNEL, None),
        ("2.0.0", "c", State.STUCK, None),
        ("0.9.0", None, State.NOT_IN_CATALOG, None),
    ],
)
def test_state_of_an_installed_version(version: str, channel: str | None, state: State, following: str | None) -> None:
    found = compared("p", version, channel)
    assert (found.state, found.next_version or None) == (state, following)


def test_path_is_counted_and_deprecations_are_told() -> None:
    found = compared("p", "1.0.0")
    assert (found.upgrades_left, found.reaches_head, found.newest_version) == (2, True, "1.2.0")
    assert [one.message for one in found.deprecations] == ["has a leak"]
    assert [one.message for one in compared("p", "1.2.0", "b").deprecations] == ["use a"]


def test_unknown_package_and_channel_say_why() -> None:
    for found, cause in (
        (compared("zz", "1.0.0"), Cause.UNKNOWN_PACKAGE),
        (compared("p", "1.0.0", "zz"), Cause.UNKNOWN_CHANNEL),
    ):
        assert found.state is State.UNKNOWN
        assert found.refusal is not None
        assert found.refusal.cause is cause
