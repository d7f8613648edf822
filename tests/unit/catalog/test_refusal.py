"""The words of refusals: each cause says what is wrong, and what to ask instead."""

import pytest

from rukpak_py.catalog.similar_names import close_names
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.catalog.upgrades.upgrade_graph import Edge, EdgeKind
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePath

WORDS = {
    Cause.UNKNOWN_PACKAGE: ('package "p" not found', "did you mean x, y?"),
    Cause.UNKNOWN_CHANNEL: ('package "p" has no channel "z"', "choose one of its channels: x, y"),
    Cause.NO_DEFAULT_CHANNEL: ('package "p" has no default channel', "choose one of its channels: x, y"),
    Cause.UNKNOWN_BUNDLE: ('package "p" has no bundle or version "z"', "did you mean x, y?"),
    Cause.INVALID_RANGE: ('"z" is not a valid range of versions: because', ""),
    Cause.NO_VERSION_IN_RANGE: (
        'no version of package "p" that can be installed from channel a is in range "z"',
        "versions to choose from: x, y",
    ),
    Cause.NO_SUCCESSOR: ('no entry of package "p" in channel a upgrades "z"', "bundles that can be upgraded: x, y"),
    Cause.AMBIGUOUS_BUNDLE: ('several bundles of package "p" have version "z"', "name one of the bundles: x, y"),
    Cause.EMPTY_CHANNEL: ('no bundle of package "p" can be installed from channel a', ""),
}


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_its_words(cause: Cause) -> None:
    refusal = Refusal(cause=cause, package="p", asked="z", channels=("a",), alternatives=("x", "y"), problem="because")
    assert (refusal.message, refusal.remedy) == WORDS[cause]


def test_way_out_of_a_version_without_successor_is_the_nearest_path() -> None:
    def remedy(nearest: UpgradePath) -> str:
        return Refusal(cause=Cause.NO_SUCCESSOR, package="p", asked="1.0.5", nearest=nearest).remedy

    step = Edge(source="p.v1.1.0", target="p.v1.2.0", kind=EdgeKind.REPLACES, channel="a", text="p.v1.1.0")
    path = UpgradePath(source="p.v1.1.0", steps=(step,), reaches_head=True)
    assert remedy(path) == "the nearest bundle with a path to p.v1.2.0 is p.v1.1.0"
    assert remedy(UpgradePath(source="p.v1.2.0", reaches_head=True)) == "the nearest bundle is the head p.v1.2.0"


def test_close_names_are_similar_or_contain_the_name() -> None:
    known = ["prometheus", "prometheus-adapter", "grafana", "my-prom"]
    assert close_names("promethues", known) == ("prometheus", "prometheus-adapter")
    assert close_names("prom", known) == ("my-prom", "prometheus", "prometheus-adapter")
    assert close_names("", known) == ()
    assert close_names("p" * 10_000, ["p" * 10_000]) == ()
