"""Why a bundle of a catalog is installed, for people and for programs."""

from typing import Any

import pytest

from rukpak_py.catalog.model import CONSTRAINT, REQUIRED_GVK, REQUIRED_PACKAGE, Property
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.catalog.upgrades.resolution import Resolution
from rukpak_py.catalog.upgrades.resolve import resolve
from rukpak_py.cli.reports import resolution as report
from rukpak_py.cli.terminal import Style
from tests.unit.catalog.catalogs import catalog, entry, packages, provides
from tests.unit.cli.streams import terminal

CHANNELS = {
    "stable": [
        entry("1.0.0"),
        entry("1.1.0", replaces="1.0.0"),
        entry("1.2.0", replaces="1.0.0", skips=["1.1.0"]),
        entry("2.0.0", replaces="1.2.0", skip_range=">=1.2.0 <2.0.0"),
        entry("2.1.0", replaces="2.0.0"),
        entry("2.2.0", replaces="2.1.0"),
    ]
}
REQUIRED = [
    Property(type=REQUIRED_GVK, value={"group": "q.example.com", "version": "v1", "kind": "Queue"}),
    Property(type=REQUIRED_PACKAGE, value={"packageName": "r", "versionRange": ">=1.0.0"}),
    Property(
        type=CONSTRAINT,
        value={
            "failureMessage": "needs one of them",
            "any": {
                "constraints": [{"package": {"packageName": "s", "versionRange": "1.0.0"}}, {"cel": {"rule": "x"}}]
            },
        },
    ),
]
PACKAGES = packages(
    catalog(CHANNELS, properties={"2.0.0": REQUIRED}, deprecated={"2.0.0": "has a defect", "stable": "use fast"}),
    catalog(
        {"stable": [entry("1.0.0", package="q")]},
        package="q",
        properties={"1.0.0": [provides("Queue", "q.example.com")]},
    ),
)


def resolved(**asked: Any) -> Resolution:
    found = resolve(PACKAGES, "p", **asked)
    assert isinstance(found, Resolution)
    return found


def lines(found: Resolution, monkeypatch: pytest.MonkeyPatch, *, verbose: bool = False) -> list[str]:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    return "\n".join(report.lines_of(found, Style(terminal()), verbose=verbose)).splitlines()


def test_upgrade_names_its_edge_what_is_skipped_and_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines(resolved(installed="1.0.0"), monkeypatch) == [
        "p.v1.2.0",
        "  package      p",
        "  version      1.2.0",
        "  channel      stable",
        "  image        example.com/p:v1.2.0",
        "  installed    p.v1.0.0",
        "  upgrade      replaces p.v1.0.0 (channel stable)",
        "  skipped      p.v1.1.0",
        "  deprecated   channel stable is deprecated: use fast",
        "  then         3 upgrades more: p.v2.0.0, p.v2.1.0, p.v2.2.0",
        "  passed over  p.v2.2.0, p.v2.1.0, p.v2.0.0: no edge leads to it from the installed bundle",
        "  passed over  p.v1.1.0: lower, or less preferred",
    ]


def test_skip_range_is_told_with_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lines(resolved(installed="1.3.0"), monkeypatch)
    assert '  upgrade      skipRange ">=1.2.0 <2.0.0" (channel stable)' in found
    assert "  installed    1.3.0, which the catalog does not have" in found


def test_dependencies_say_who_provides_them_or_that_nothing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [line.strip() for line in lines(resolved(version_range="2.0.0"), monkeypatch)]
    assert "requires     Queue (q.example.com/v1): provided by q.v1.0.0 (package q)" in found
    assert "requires     package r >=1.0.0: missing in the catalog" in found
    assert any("any of (package s 1.0.0, cel): not evaluated" in line for line in found)


def test_warnings_are_of_deprecations_and_of_dependencies_that_are_not_met() -> None:
    assert list(report.warnings_of(resolved(version_range="2.0.0"))) == [
        "p.v2.0.0: channel stable is deprecated: use fast",
        "p.v2.0.0: this bundle is deprecated: has a defect",
        "p.v2.0.0 requires package r >=1.0.0: missing in the catalog",
        "p.v2.0.0 requires any of (package s 1.0.0, cel): not evaluated",
    ]


def test_many_dependencies_are_listed_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    required = [
        Property(type=REQUIRED_PACKAGE, value={"packageName": f"r{at}", "versionRange": ">=1.0.0"}) for at in range(23)
    ]
    found = resolve(packages(catalog({"stable": [entry("1.0.0")]}, properties={"1.0.0": required})), "p")
    assert isinstance(found, Resolution)
    assert "  requires  3 more: --verbose lists them" in lines(found, monkeypatch)
    assert sum("requires" in line for line in lines(found, monkeypatch, verbose=True)) == 23
    warnings = list(report.warnings_of(found))
    assert warnings[-1] == "p.v1.0.0 requires 3 more that the catalog does not satisfy"
    assert len(warnings) == 21


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "\u202e"])
def test_text_of_a_catalog_cannot_move_the_cursor(text: str) -> None:
    found = resolve(packages(catalog({"stable": [entry("1.0.0")]}, deprecated={"1.0.0": text})), "p")
    assert isinstance(found, Resolution)
    assert not any(text in line for line in report.lines_of(found, Style(terminal())))


def test_everything_that_was_passed_over_has_its_own_reason_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lines(resolved(installed="1.0.0", version_range="<1.2.0"), monkeypatch, verbose=True)
    assert "  passed over  p.v1.2.0: out of range: <1.2.0" in found
    assert sum("passed over" in line for line in found) == 4


def test_installed_bundle_that_stays_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lines(resolved(installed="2.2.0"), monkeypatch)
    assert "  upgrade      none: the installed bundle stays" in found
    assert "  then         it is the head of its channel" in found


def test_long_texts_stay_within_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = {"stable": "moved to another channel, " * 20}
    found = resolve(packages(catalog(CHANNELS, deprecated=messages)), "p", installed="1.0.0")
    assert isinstance(found, Resolution)
    assert max(map(len, lines(found, monkeypatch))) <= 100


def test_document_has_the_edge_and_what_follows() -> None:
    found = report.document(resolved(installed="1.0.0"))
    assert found["edge"] == {
        "from": "p.v1.0.0",
        "to": "p.v1.2.0",
        "kind": "replaces",
        "channel": "stable",
        "text": "p.v1.0.0",
    }
    assert [step["to"] for step in found["path"]["steps"]] == ["p.v2.0.0", "p.v2.1.0", "p.v2.2.0"]
    assert found["path"]["reachesHead"]
    assert found["installed"] == {"name": "p.v1.0.0", "version": "1.0.0", "known": True}
    assert {one["reason"] for one in found["passedOver"]} == {"NoEdge", "LowerVersion"}


def test_document_of_a_refusal_has_cause_and_remedy() -> None:
    found = resolve(PACKAGES, "p", channel="beta")
    assert isinstance(found, Refusal)
    refusal = report.refusal_document(found)["refusal"]
    assert (refusal["cause"], refusal["alternatives"]) == ("UnknownChannel", ["stable"])
    assert refusal["remedy"] == "choose one of its channels: stable"
