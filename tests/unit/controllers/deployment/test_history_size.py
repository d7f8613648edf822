"""A history over its limit loses templates and options, from the oldest installation on."""

import msgspec
import pytest

from rukpak_py.api.bundle_deployment import Installation, InstallOutcome
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.controllers.result.changes import HISTORY_BYTES, is_reduced, reduced_text, within_limit
from tests.unit.controllers.values import spec

KB = 1000
OPTIONS = recorded(InstallOptions(config={"values": "x: 1"}))


def entry(revision: int, *, size: int = 1, options: InstallOptions | None = None) -> Installation:
    metadata = TemplateMeta(annotations={"large": "x" * size * KB})
    return Installation(
        revision=revision,
        bundle=f"b{revision}",
        digest="d",
        time="t",
        outcome=InstallOutcome.HEALTHY,
        options=recorded(options) if options is not None else OPTIONS,
        template=BundleTemplate(metadata=metadata, spec=spec()),
    )


def history(*sizes: int) -> tuple[Installation, ...]:
    """The first is the active one."""
    return tuple(entry(len(sizes) - at, size=size) for at, size in enumerate(sizes))


def test_a_history_that_fits_stays_as_it_is() -> None:
    kept = history(245, 245)
    assert within_limit(kept) is kept
    assert reduced_text(kept) == ""


@pytest.mark.parametrize(
    ("sizes", "reduced"),
    [
        ((245, 245, 245, 245, 245), (1, 2, 3)),
        ((1, 1, 1, 1, 600), (1,)),
        ((1, 600, 1, 1, 1), (1, 2, 3, 4)),
        ((600, 1), (1, 2)),
        ((600,), (1,)),
    ],
    ids=["edits of 245 KB", "the oldest is large", "a later one is large", "the active one is large", "the only one"],
)
def test_the_oldest_installations_lose_their_templates_first(sizes: tuple[int, ...], reduced: tuple[int, ...]) -> None:
    kept = within_limit(history(*sizes))
    assert tuple(one.revision for one in reversed(kept) if is_reduced(one)) == reduced
    assert len(msgspec.json.encode(kept)) <= HISTORY_BYTES
    assert [(one.revision, one.bundle, one.digest) for one in kept] == [
        (one.revision, one.bundle, one.digest) for one in history(*sizes)
    ]


def test_former_installations_lose_their_options_too_and_the_active_one_keeps_them() -> None:
    kept = within_limit(history(600, 1))
    assert [one.options for one in kept] == [OPTIONS, None]


def test_lost_parts_of_the_history_are_reported_by_revision() -> None:
    assert reduced_text(within_limit(history(245, 245, 245, 245))) == (
        "status.history has no room for templates and options of revisions 1, 2"
    )
    assert reduced_text(within_limit(history(600, 1))) == (
        "status.history has no room for templates and options of revision 1 and the template of revision 2"
    )


def test_an_entry_of_a_former_release_that_is_reduced_is_told_from_one_that_never_had_a_template() -> None:
    never = Installation(bundle="b", digest="d", time="t")
    assert not is_reduced(never)
    former = Installation(bundle="b", digest="d", time="t", template=entry(1, size=600).template, revision=1)
    (kept,) = within_limit((former,))
    assert is_reduced(kept)
