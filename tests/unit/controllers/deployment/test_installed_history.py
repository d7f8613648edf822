"""Record of what is installed in the status: the history with its options, the kinds, the hash of all objects."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import (
    HISTORY,
    BundleDeployment,
    BundleDeploymentStatus,
    Installation,
    InstallOutcome,
    KeptObject,
    KeptReason,
    RecordedOptions,
    RecordedValues,
)
from rukpak_py.api.deployment_spec import BundleTemplate, Override
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.applied_digest import applied_digest
from rukpak_py.controllers.deployment.attempt import Attempt, options_of_active
from rukpak_py.controllers.deployment.history import installed_change
from rukpak_py.controllers.deployment.kept_renderings import key_of
from rukpak_py.controllers.deployment.state_parts import ContentFacts
from rukpak_py.controllers.result.changes import changed
from rukpak_py.controllers.result.conclude import as_it_is
from rukpak_py.controllers.result.progress import StatusChange
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS
from tests.unit.apply.lives import live, owned
from tests.unit.controllers.deployment.parts import BASKET, attempt, content_key, kinds, ours, settled, with_status
from tests.unit.controllers.fakes import LATER, NOW
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, deployment, hook_record, unpacked

HERE = ours("a", "b")
SECRET = live(gvk=SECRETS.gvk, **owned("s"))
ENTRY = KeptObject(version="v1", kind="Secret", namespace="ns", name="s", reason=KeptReason.HOLDS_DATA)
TEMPLATE = BundleTemplate(spec=unpacked().spec)
LARGE = {"x": "y" * 70_000}  # more than the 64 KiB that a status records


def change(
    one: Attempt,
    shown: Mapping[ObjectKey, ObservedObject] = HERE,
    kept: tuple[KeptObject, ...] = (),
    now: str = NOW,
    *,
    outcome: InstallOutcome = InstallOutcome.INSTALLED,
    all_is_seen: bool = True,
) -> StatusChange:
    return installed_change(one, shown, kept, now, outcome=outcome, all_is_seen=all_is_seen)


def fields(one: Attempt, shown: Mapping[ObjectKey, ObservedObject] = HERE, *more: Any, **about: Any) -> dict[str, Any]:
    """Fields that the status gets."""
    status = changed(one.deployment.status, change(one, shown, *more, **about), as_it_is)
    return {name: getattr(status, name) for name in status.__struct_fields__}


def after(one: Attempt, shown: Mapping[ObjectKey, ObservedObject] = HERE) -> Attempt:
    """The next attempt: what is installed was written to the status."""
    return with_status(one, **fields(one, shown))


def entry(options: InstallOptions | None = None, **rest: Any) -> Installation:
    found = recorded(options) if options is not None else None
    return Installation(bundle="b", digest=DIGEST, time=NOW, options=found, **rest)


def with_history(*entries: Installation, **spec: Any) -> BundleDeployment:
    return deployment(status=BundleDeploymentStatus(history=entries, digest=DIGEST), **spec)


# Kinds and the applied digest


def test_all_that_was_applied_has_one_digest_and_its_kinds_are_those_in_use() -> None:
    one = settled(with_status(attempt(), kinds=kinds(BASKET)), *HERE.values())
    found = fields(one, HERE)
    assert found["active_bundle"] == "b"
    assert found["digest"] == DIGEST
    assert found["applied_digest"] == applied_digest(HERE.values(), one.content)
    assert found["kinds"] == kinds(CONFIG_MAPS.gvk)


def test_half_of_it_has_no_digest_and_no_kind_is_forgotten() -> None:
    one = with_status(attempt(), kinds=kinds(BASKET))
    one.state.applied.trust(HERE.values())
    found = fields(one, HERE)
    assert found["applied_digest"] == ""
    assert found["kinds"] == kinds(CONFIG_MAPS.gvk, BASKET)


@pytest.mark.parametrize("shown", [ours("a"), ours("a") | ours("b", managedFields=[])], ids=["missing", "changed"])
def test_objects_that_differ_from_the_applied_ones_have_no_digest(shown: dict[ObjectKey, ObservedObject]) -> None:
    one = settled(with_status(attempt(), kinds=kinds(BASKET)), *HERE.values())
    assert fields(one, shown)["applied_digest"] == ""
    assert fields(one, shown)["kinds"] == kinds(CONFIG_MAPS.gvk, BASKET)


def test_an_object_that_left_and_is_not_pruned_yet_is_not_in_the_digest_and_its_kind_stays_recorded() -> None:
    one = settled(with_status(attempt(), kinds=kinds(BASKET)), *HERE.values())
    found = fields(one, HERE | ours("left"))
    assert found["applied_digest"] == applied_digest(HERE.values(), one.content)
    assert found["kinds"] == kinds(CONFIG_MAPS.gvk, BASKET)


def test_a_kept_object_is_not_in_the_digest_and_its_kind_stays_recorded() -> None:
    one = settled(with_status(attempt(), kinds=kinds(BASKET)), *HERE.values())
    found = fields(one, HERE | {SECRET.key: SECRET}, (ENTRY,))
    assert found["kept"] == (ENTRY,)
    assert found["applied_digest"] == applied_digest(HERE.values(), one.content)
    assert found["kinds"] == kinds(CONFIG_MAPS.gvk, SECRETS.gvk)


def test_while_some_kind_cannot_be_seen_the_digest_stays_and_no_kind_is_forgotten() -> None:
    one = settled(with_status(attempt(), kinds=kinds(BASKET), applied_digest="sha256:former"), *HERE.values())
    found = fields(one, HERE, all_is_seen=False)
    assert found["applied_digest"] == "sha256:former"
    assert found["kinds"] == kinds(CONFIG_MAPS.gvk, BASKET)


def test_nothing_else_of_the_status_is_said_than_what_is_installed_and_its_hooks() -> None:
    found = change(attempt())
    assert found.installed
    assert found == StatusChange(installed=found.installed, hooks=())


# Whether it has hooks for its deletion


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("has_them", [True, False])
def test_hooks_of_the_deletion_are_recorded_as_they_were_rendered_or_stay(*, has_them: bool, is_known: bool) -> None:
    """A process that installs without rendering again knows of none."""
    one = with_status(attempt(), delete_hooks=has_them if not is_known else not has_them)
    if is_known:
        one.state.rendered(one.content, ContentFacts(delete_hooks=has_them))
    assert fields(one)["delete_hooks"] is has_them


# The records of hooks


def test_hooks_of_what_was_installed_before_are_forgotten_once_it_is_replaced() -> None:
    one = after(attempt())
    records = hook_records(one, "sha256:older")
    assert [record.revision for record in fields(with_status(one, hooks=records))["hooks"]] == [
        record.revision for record in records
    ], "those of what is installed stay, with what happened before them"
    upgrade = with_status(one, hooks=records).of_bundle(unpacked("new", digest=OTHER_DIGEST))
    (record,) = fields(with_status(upgrade, hooks=(*records, *hook_records(upgrade))))["hooks"]
    assert record.revision == key_of(upgrade)


def hook_records(one: Attempt, *others: str) -> tuple[HookRecord, ...]:
    return tuple(hook_record(revision=revision) for revision in (key_of(one), *others))


# The history


def test_an_installation_is_recorded_with_its_options_and_the_way_back() -> None:
    overrides = (Override(kind="ConfigMap", name="a", prune=False),)
    one = attempt(install_namespace="ns", overrides=overrides, config={"replicas": 2})
    (first,) = fields(one, HERE)["history"]
    assert (first.bundle, first.digest, first.time) == ("b", DIGEST, NOW)
    assert first.options == recorded(
        InstallOptions(install_namespace="ns", overrides=overrides, config={"replicas": 2})
    )
    assert first.template.spec.source == one.bundle.status.resolved_source


def test_labels_of_ours_are_not_part_of_the_way_back() -> None:
    bundle = unpacked(labels={"core.rukpak.io/owner-name": "shop", "team": "x"}, annotations={"note": "y"})
    (first,) = fields(attempt(bundle=bundle), HERE)["history"]
    assert first.template.metadata.labels == {"team": "x"}
    assert first.template.metadata.annotations == {"note": "y"}


def test_the_same_installation_is_recorded_once() -> None:
    one = after(attempt())
    assert fields(one, HERE, now=LATER)["history"] == one.deployment.status.history


def test_the_digest_of_a_rendering_is_recorded_and_taken_on() -> None:
    """A process that installs without rendering again takes it on: another name of the same content."""
    one = attempt()
    one.state.rendered(one.content, ContentFacts(rendering="sha256:made"))
    (first,) = fields(one, HERE)["history"]
    assert first.rendering_digest == "sha256:made"
    status = BundleDeploymentStatus(history=(first,), digest=DIGEST)
    renamed = attempt(of=deployment(status=status), bundle=unpacked("renamed"))
    assert [found.rendering_digest for found in fields(renamed, HERE)["history"]] == ["sha256:made"] * 2
    other = attempt(of=deployment(status=status, config={"values": "a: 1"}))
    assert [found.rendering_digest for found in fields(other, HERE)["history"]] == ["", "sha256:made"]


def test_the_newest_five_installations_are_recorded_the_active_one_first() -> None:
    one = attempt()
    for number in range(HISTORY + 2):
        one = after(one.of_bundle(unpacked(f"b{number}", digest=f"sha256:{number}")))
    assert [past.bundle for past in one.deployment.status.history] == [f"b{number}" for number in (6, 5, 4, 3, 2)]


def test_revisions_go_on_counting_where_the_history_ends() -> None:
    one = attempt()
    for number in range(HISTORY + 2):
        one = after(one.of_bundle(unpacked(f"b{number}", digest=f"sha256:{number}")))
    assert [past.revision for past in one.deployment.status.history] == [7, 6, 5, 4, 3]


def test_revisions_of_a_former_release_are_counted_before_the_oldest_is_dropped() -> None:
    former = [entry(InstallOptions())] * HISTORY
    history = fields(attempt(of=with_history(*former, config={"x": 1})))["history"]
    assert [past.revision for past in history] == [6, 5, 4, 3, 2]


@pytest.mark.parametrize(
    ("former", "latest", "recorded_as"),
    [
        (InstallOutcome.INSTALLED, InstallOutcome.HEALTHY, InstallOutcome.HEALTHY),
        (InstallOutcome.INSTALLED, InstallOutcome.FAILED, InstallOutcome.FAILED),
        (InstallOutcome.FAILED, InstallOutcome.INSTALLED, InstallOutcome.INSTALLED),
        (InstallOutcome.HEALTHY, InstallOutcome.FAILED, InstallOutcome.HEALTHY),
        ("", InstallOutcome.FAILED, ""),
    ],
    ids=["became healthy", "failed", "is repaired", "was healthy before it failed", "of a former release"],
)
def test_the_outcome_of_an_installation_is_recorded_and_stays_healthy(
    former: str, latest: InstallOutcome, recorded_as: str
) -> None:
    one = attempt(of=with_history(entry(InstallOptions(), outcome=former, template=TEMPLATE)))
    (found,) = fields(one, outcome=latest)["history"]
    assert found.outcome == recorded_as


def test_an_entry_of_the_former_release_is_written_anew_only_where_its_form_has_lost_something() -> None:
    plain = with_history(entry(InstallOptions()))
    assert fields(attempt(of=plain))["history"] == plain.status.history
    nulls = {"values": {"a": None}}
    former = replace(entry(), options=RecordedOptions(config={"values": {}}))
    (found,) = fields(attempt(of=with_history(former, config=nulls)), now=LATER)["history"]
    assert found == replace(former, revision=1, options=recorded(InstallOptions(config=nulls)))


def test_a_template_that_did_not_fit_is_recorded_once_it_does() -> None:
    (first,) = fields(attempt())["history"]
    (found,) = fields(attempt(of=with_history(replace(first, template=None))))["history"]
    assert found == first


def test_other_options_are_another_installation() -> None:
    former = entry(InstallOptions())
    history = fields(attempt(of=with_history(former, config={"x": 1})), HERE, now=LATER)["history"]
    assert [past.time for past in history] == [LATER, NOW]
    assert history[1] == replace(former, revision=1)


def test_an_entry_of_the_first_release_gets_the_options_it_was_kept_with() -> None:
    one = attempt(of=with_history(entry(), entry(), config={"x": 1}))
    history = fields(one, HERE, now=LATER)["history"]
    assert [past.time for past in history] == [NOW, NOW]
    assert [past.options for past in history] == [recorded(InstallOptions(config={"x": 1})), None]


def test_a_digest_under_a_new_key_is_noted_and_is_no_other_installation() -> None:
    (one,) = values = (RecordedValues(kind="Secret", name="s", key="k", digest="hmac-sha256:a:1"),)
    noted = (replace(one, current_digest="hmac-sha256:b:1"),)
    of = with_history(entry(InstallOptions(values_from=values)))
    history = fields(attempt(of=of, options=InstallOptions(values_from=noted)), HERE, now=LATER)["history"]
    assert [(past.time, past.options.values_from) for past in history] == [(NOW, noted)]


# The options of what is installed


@pytest.mark.parametrize(
    ("of", "options"),
    [
        (deployment(config={"x": 1}), InstallOptions(config={"x": 1})),
        (with_history(entry(InstallOptions(config={"x": 1})), config={"x": 2}), InstallOptions(config={"x": 1})),
        (with_history(entry(InstallOptions()), install_namespace="other"), InstallOptions()),
        (with_history(entry(), config={"x": 2}), InstallOptions(config={"x": 2})),
        (with_history(entry(config={"x": 1}), config={"x": 2}), InstallOptions(config={"x": 1})),
        (with_history(entry(InstallOptions(config=LARGE)), config=LARGE), InstallOptions(config=LARGE)),
        (with_history(entry(InstallOptions(config=LARGE)), config={"x": 2}), None),
    ],
    ids=[
        "nothing is installed: those of the spec",
        "recorded, and the spec has others by now",
        "recorded without any",
        "of the first release: those of the spec",
        "of the first release, with its configuration",
        "too large to record, and the spec still has them",
        "too large to record, and the spec has others: lost",
    ],
)
def test_installed_content_is_kept_with_the_options_it_was_installed_with(
    of: BundleDeployment, options: InstallOptions | None
) -> None:
    assert options_of_active(of) == options


# What identifies content


def test_options_that_say_nothing_add_nothing_to_what_identifies_the_content() -> None:
    assert attempt().content == content_key(DIGEST)


@pytest.mark.parametrize(
    "other",
    [
        attempt(uid="other"),
        attempt(bundle=unpacked(digest=OTHER_DIGEST)),
        attempt(makes_namespace=True),
        attempt(config={"x": 1}),
        attempt(overrides=(Override(kind="ConfigMap", name="a", force=True),)),
    ],
)
def test_a_change_of_the_objects_changes_the_key_of_the_content(other: Attempt) -> None:
    assert other.content != attempt().content


def test_rollback_of_an_upgrade_that_was_no_revision_yet_is_one_of_its_own() -> None:
    """Else the approval of the upgrade would name its next plan, too."""
    first = after(settled(attempt()))
    undone = RolledBack(revision=1, bundle="other", content=OTHER_DIGEST, time=LATER)
    history = fields(dataclasses.replace(first, undoes=undone), now=LATER)["history"]
    assert [(one.revision, one.digest) for one in history] == [(2, DIGEST)]
    again = dataclasses.replace(with_status(first, history=history), undoes=undone)
    assert [one.revision for one in fields(again, now=LATER)["history"]] == [2]
