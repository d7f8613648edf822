"""Hooks that an installation has to run, and the mark by which a run is known."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation, InstallOutcome
from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.install_options import InstallOptions, options_of, recorded
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.history import installed_change
from rukpak_py.controllers.deployment.hooks.runs import (
    INSTALL,
    ROLLBACK,
    UPGRADE,
    InstallEvents,
    events_of,
    hooks_at,
    may_replace_left,
    run_of,
)
from rukpak_py.controllers.deployment.kept_renderings import key_of
from rukpak_py.controllers.deployment.state_parts import ContentFacts
from rukpak_py.controllers.result.progress import StatusChange
from rukpak_py.core.objects import Object
from rukpak_py.formats.hook import Hook, HookEvent
from tests.manifests import config_map
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.fakes import LATER, NOW
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, deployment, hook_record, unpacked


def change(one: Attempt) -> StatusChange:
    return installed_change(one, {}, (), NOW, outcome=InstallOutcome.INSTALLED)


def history(one: Attempt) -> tuple[Installation, ...]:
    found = change(one).installed
    assert found
    return found.history


def installed(digest: str = DIGEST, *, config: dict[str, Any] | None = None, time: str = NOW) -> Installation:
    options = recorded(InstallOptions(config=config))
    return Installation(bundle="b", digest=digest, time=time, options=options)


def failed(outcome: str) -> Installation:
    return replace(installed(), outcome=outcome)


def with_status(**status: Any) -> BundleDeployment:
    return deployment(status=BundleDeploymentStatus(**status))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, INSTALL),
        ({"active_bundle": "b", "history": (installed(),)}, None),
        ({"active_bundle": "b", "history": (installed(OTHER_DIGEST),)}, UPGRADE),
        ({"active_bundle": "b", "history": (installed(config={"values": "a: 1"}),)}, UPGRADE),
        ({"active_bundle": "b", "history": (installed(OTHER_DIGEST), installed())}, ROLLBACK),
        ({"active_bundle": "b", "history": (installed(OTHER_DIGEST), installed(config={"values": "a: 1"}))}, UPGRADE),
        ({"active_bundle": "b", "history": (installed(OTHER_DIGEST), failed("RolledBack"))}, UPGRADE),
        ({"active_bundle": "b", "history": (installed(OTHER_DIGEST), failed("Failed"))}, UPGRADE),
        ({"active_bundle": "b", "history": (installed(OTHER_DIGEST), failed("Failed"), installed())}, ROLLBACK),
        ({"active_bundle": "b"}, None),  # of the original
        ({"active_bundle": "older"}, UPGRADE),
    ],
)
def test_an_attempt_that_changes_installed_content_has_events(
    status: dict[str, Any], expected: InstallEvents | None
) -> None:
    assert events_of(attempt(of=with_status(**status), bundle=unpacked("b"))) == expected


def test_undo_of_a_failed_upgrade_goes_back_whatever_became_of_the_revision() -> None:
    of = with_status(active_bundle="b", history=(installed(OTHER_DIGEST), failed("Failed")))
    record = RolledBack(revision=1, bundle="c", content=OTHER_DIGEST, time=NOW)
    assert events_of(dataclasses.replace(attempt(of=of, bundle=unpacked("b")), undoes=record)) == ROLLBACK


def test_spec_that_renders_nothing_else_is_no_upgrade() -> None:
    of = with_status(active_bundle="b", history=(installed(),))
    of = replace(of, spec=replace(of.spec, prune=replace(of.spec.prune, enabled=False), adopt="Force"))
    assert events_of(attempt(of=of, options=options_of(of.spec))) is None


@pytest.mark.parametrize(
    ("status", "adopt", "expected"),
    [
        ({}, Adopt.NEVER, False),
        ({}, Adopt.IF_UNOWNED, True),
        ({"active_bundle": "b"}, Adopt.NEVER, True),
        ({"active_bundle": "b", "history": (installed(),)}, Adopt.NEVER, False),
    ],
)
def test_hook_without_an_owner_is_replaced_where_the_original_or_the_spec_says_so(
    status: dict[str, Any], adopt: Adopt, *, expected: bool
) -> None:
    of = with_status(**status)
    assert may_replace_left(replace(of, spec=replace(of.spec, adopt=adopt))) is expected


def test_content_that_the_original_installed_is_remembered() -> None:
    one = attempt(of=with_status(active_bundle="b"))
    entries = history(one)
    assert may_replace_left(with_status(active_bundle="b", history=entries))
    later = attempt(of=with_status(active_bundle="b", history=entries), bundle=unpacked("c", digest=OTHER_DIGEST))
    assert [entry.taken_over for entry in history(later)] == [False, True]


def test_a_run_is_known_by_its_event_its_rendering_and_what_it_replaces() -> None:
    event = HookEvent.PRE_UPGRADE
    runs = [
        run_of(attempt(), event),
        run_of(attempt(), HookEvent.POST_UPGRADE),
        run_of(attempt(bundle=unpacked(digest=OTHER_DIGEST)), event),
        run_of(attempt(options=InstallOptions(config={"values": "a: 1"})), event),
        run_of(attempt(of=with_status(history=(installed(OTHER_DIGEST),))), event),
        run_of(attempt(of=with_status(history=(installed(OTHER_DIGEST, time=LATER),))), event),
    ]
    assert len({run.mark for run in runs}) == len(runs)
    assert run_of(attempt(), event).mark == runs[0].mark


def rendered(digest: str, **status: Any) -> Attempt:
    one = attempt(of=with_status(**status))
    one.state.rendered(one.content, ContentFacts(rendering=digest))
    return one


def test_new_rendering_is_another_run_but_for_a_deletion() -> None:
    first, second = rendered("sha256:a"), rendered("sha256:b")
    assert run_of(first, HookEvent.PRE_INSTALL).mark != run_of(second, HookEvent.PRE_INSTALL).mark
    assert run_of(first, HookEvent.PRE_INSTALL).mark == run_of(rendered("sha256:a"), HookEvent.PRE_INSTALL).mark
    assert run_of(first, HookEvent.POST_DELETE).mark == run_of(second, HookEvent.POST_DELETE).mark


@pytest.mark.parametrize(
    ("digest", "event", "of_revision", "expected"),
    [
        ("sha256:b", HookEvent.PRE_INSTALL, "", True),
        ("sha256:b", HookEvent.POST_INSTALL, "", True),
        ("sha256:a", HookEvent.PRE_INSTALL, "", False),
        ("sha256:b", HookEvent.PRE_DELETE, "", False),
        ("sha256:b", HookEvent.PRE_INSTALL, "another", False),
    ],
)
def test_records_of_a_former_rendering_are_superseded(
    digest: str, event: HookEvent, of_revision: str, *, expected: bool
) -> None:
    then = run_of(rendered("sha256:a"), HookEvent.PRE_INSTALL)
    mark = dataclasses.replace(then, revision=of_revision or then.revision).mark
    record = replace(a_record(then.revision), run=mark, rendering_digest=then.rendering)
    now = run_of(rendered(digest), event)
    assert (now.superseded(BundleDeploymentStatus(hooks=(record,))) == (record,)) is expected


def test_hooks_of_an_event_are_sorted_by_weight_and_name() -> None:
    def hook(name: str, weight: int, *events: HookEvent) -> Hook:
        return Hook(object=Object.from_manifest(config_map(name)), events=frozenset(events), weight=weight)

    before, after = HookEvent.PRE_INSTALL, HookEvent.POST_INSTALL
    hooks = [hook("c", 1, before), hook("b", 0, before, after), hook("a", 0, before), hook("d", -1, after)]
    assert [one.object.head.name for one in hooks_at(hooks, before)] == ["a", "b", "c"]
    assert [one.object.head.name for one in hooks_at(hooks, after)] == ["d", "b"]


def a_record(revision: str) -> HookRecord:
    return hook_record(revision=revision, result="Failed")


def test_records_of_a_replaced_installation_go_with_it() -> None:
    ours, theirs = a_record(key_of(attempt())), a_record("another")
    first = attempt(of=with_status(hooks=(theirs, ours)))
    assert change(first).hooks == (ours,)
    kept = attempt(of=with_status(hooks=(theirs,), active_bundle="b", history=(installed(),)))
    assert change(kept).hooks == (theirs,), "of its successor, which failed"
