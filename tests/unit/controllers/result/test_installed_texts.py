"""Texts of `Installed` about the installed content while other content is on its way."""

import pytest

from rukpak_py.api.bundle_deployment import Installation, InstalledContent
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import KeyFacts
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Reached
from tests.unit.controllers.result.concluding import (
    FRESH,
    KEPT,
    MINUTES_LATER,
    SECOND,
    after,
    fact,
    installed,
    progress,
)
from tests.unit.controllers.result.test_ready_texts import told

B1 = "True Instantiated bundle b1 successfully"
CHART = InstalledContent(name="redis", version="18.1.0", app_version="7.2.1")
CSV = InstalledContent(name="gadgets.v0.1.0", version="0.1.0", package="gadgets")


def entry(generation: int) -> Installation:
    return Installation(bundle="b1", digest="d1", time="2026-01-01T00:00:00Z", generation=generation)


def said(
    *facts: Fact,
    content: InstalledContent | None = None,
    version: str = "",
    generation: int = 1,
    key: KeyFacts = SECOND,
    reached: Reached = Reached.NOTHING,
) -> str:
    """Text of Installed while the template asks for `b2`."""
    history = (entry(generation),)
    known = installed("b1", "d1", history=history, content=content, version=version)
    before = after(FRESH, NO_PROGRESS, progress(reached=Reached.FINISHED, installed=known))
    return told(after(before, progress(*facts, reached=reached), KEPT, key, now=MINUTES_LATER), "Installed")


@pytest.mark.parametrize(
    "cause",
    [Cause.BUNDLE_UNPACKING, Cause.UNPACK_FAILED, Cause.RENDERING, Cause.RENDERING_CONTENT, Cause.VALUES_MISSING],
)
def test_installed_names_its_generation_and_its_chart(cause: Cause) -> None:
    expected = f"{B1}: redis 18.1.0 of generation 1; what generation 2 asks for is not installed yet"
    assert said(fact(cause, since=0.0), content=CHART) == expected


@pytest.mark.parametrize("cause", [Cause.BUNDLE_UNPACKING, Cause.UNPACK_FAILED])
def test_content_that_is_fetched_once_more_is_no_other_content(cause: Cause) -> None:
    same = KeyFacts(generation=2, bundle="b1")
    assert said(fact(cause, since=0.0), content=CHART, key=same) == B1


def test_other_values_for_the_same_bundle_are_other_content() -> None:
    same = KeyFacts(generation=2, bundle="b1")
    expected = f"{B1}: redis 18.1.0 of generation 1; what generation 2 asks for is not installed yet"
    assert said(fact(Cause.RENDERING_CONTENT), content=CHART, key=same) == expected


@pytest.mark.parametrize(
    ("content", "version", "generation", "expected"),
    [
        (None, "v1", 1, f"{B1}: v1 of generation 1; what generation 2 asks for is not installed yet"),
        (None, "", 1, f"{B1}: of generation 1; what generation 2 asks for is not installed yet"),
        (CSV, "", 1, f"{B1}: gadgets.v0.1.0 of generation 1; what generation 2 asks for is not installed yet"),
        (CHART, "", 0, f"{B1}: redis 18.1.0; what generation 2 asks for is not installed yet"),
        (None, "", 0, f"{B1}; what generation 2 asks for is not installed yet"),
        (
            CHART,
            "",
            2,
            f"{B1}: redis 18.1.0 of generation 2; what the same generation asks for now is not installed yet",
        ),
    ],
    ids=["plain", "without a version", "a CSV", "of a former release", "nothing is known", "a branch has moved"],
)
def test_installed_says_what_is_known_of_the_content(
    content: InstalledContent | None, version: str, generation: int, expected: str
) -> None:
    found = said(fact(Cause.BUNDLE_UNPACKING, since=0.0), content=content, version=version, generation=generation)
    assert found == expected


def test_a_note_beside_it_announces_no_other_content() -> None:
    assert said(fact(Cause.HOOKS_SKIPPED), content=CHART) == B1


def test_applied_content_is_the_installed_content() -> None:
    history = (entry(2),)
    wanted = progress(
        fact(Cause.UNHEALTHY), reached=Reached.APPLIED, installed=installed("b2", "d2", history=history, content=CHART)
    )
    before = after(FRESH, NO_PROGRESS, progress(reached=Reached.FINISHED, installed=installed()))
    assert told(after(before, wanted, NO_PROGRESS, SECOND), "Installed") == "True Instantiated bundle b2 successfully"
