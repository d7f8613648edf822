"""Certificates beside the objects: when they are looked at, and what is told of both."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import pytest
from msgspec import structs

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.deployment_spec import Prune
from rukpak_py.api.names import PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.certificates.deployments import CertificateResult
from rukpak_py.certificates.wanted import WantedCertificate, WantedCertificates
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.certificates import LOOK_AGAIN_SECONDS, CertificateStage, certificate_progress
from rukpak_py.controllers.deployment.facts import failure_facts
from rukpak_py.controllers.deployment.state import REMEMBERED_CONTENTS, DeploymentState
from rukpak_py.controllers.deployment.state_parts import ContentFacts
from rukpak_py.controllers.queue import Schedule
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress, Reached
from rukpak_py.core.errors import ConflictError
from rukpak_py.core.objects import ObjectKey
from tests.unit.apply.lives import key, live
from tests.unit.controllers.deployment.parts import (
    attempt,
    causes_of,
    concluded,
    content_key,
    counting_from_now,
    settled,
)
from tests.unit.controllers.values import conditions, deployment, spec, unpacked

if TYPE_CHECKING:
    from rukpak_py.apply.inventory import Inventory
    from rukpak_py.certificates.deployments import ServingCertificates
    from rukpak_py.certificates.store import ServingSecrets

SECRET = ObjectKey("", "Secret", "ns", "cert")
SERVICE = ObjectKey("", "Service", "ns", "hooks")
WANTED = WantedCertificates(certificates={SECRET: WantedCertificate(secret=SECRET, hosts=("a",), service=SERVICE)})
FAILURE = SECRET, ConflictError("theirs")
THEIRS = f"{SECRET}: theirs"
REFUSED = Failure(key=key("a"), kind=FailureKind.CONFLICT, message="ConfigMap a is refused")


@dataclass
class Signer:
    asked: list[str] = field(default_factory=list)

    async def release(self, *_: object) -> CertificateResult:
        self.asked.append("release")
        return CertificateResult()

    async def issue_missing(self, *_: object) -> CertificateResult:
        self.asked.append("issue")
        return CertificateResult()

    async def reconcile(self, *_: object) -> CertificateResult:
        self.asked.append("reconcile")
        return CertificateResult()

    async def remove_unwanted(self, *_: object) -> CertificateResult:
        self.asked.append("remove")
        return CertificateResult()


@dataclass
class Secrets:
    synced: bool = True
    owned: bool = True
    denied: str = ""
    unseen: bool = False
    watched: set[str] = field(default_factory=set)

    def watch(self, _uid: str, namespaces: Iterable[str]) -> None:
        self.watched |= set(namespaces)

    def is_synced(self, _namespace: str) -> bool:
        return self.synced

    def refusal(self, _namespace: str) -> str:
        return self.denied

    def may_be_unseen(self, _uid: str) -> bool:
        return self.unseen

    def of(self, _uid: str) -> list[ObjectKey]:
        return [SECRET] if self.owned else []


WEBHOOK = ObjectKey("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "hooks")


@dataclass
class Owned:
    lives: dict[ObjectKey, ObservedObject] = field(default_factory=dict)

    def owned_by(self, _uid: str) -> dict[ObjectKey, ObservedObject]:
        return self.lives


@dataclass
class Bench:
    signer: Signer = field(default_factory=Signer)
    secrets: Secrets = field(default_factory=Secrets)
    owned: Owned = field(default_factory=Owned)

    @property
    def stage(self) -> CertificateStage:
        return CertificateStage(
            cast("ServingCertificates", self.signer),
            cast("ServingSecrets", self.secrets),
            cast("Inventory", self.owned),
            target_of=lambda _: None,  # type: ignore[arg-type, return-value]  # the signer does not look at it
        )


def rendered(one: Attempt, wanted: WantedCertificates = WANTED) -> Attempt:
    one.state.rendered(one.content, ContentFacts(certificates=wanted))
    return one


@pytest.mark.parametrize(
    ("one", "ca_fields", "expected"),
    [
        (attempt(), "hash", ["release"]),
        (attempt(of=deployment(status=BundleDeploymentStatus(active_bundle="b"))), "hash", ["release"]),
        (settled(attempt()), "hash", []),
        (attempt(), "", []),
    ],
    ids=["a first install, which may have been edited half-way", "an upgrade", "drift", "we own no field of it"],
)
async def test_fields_that_the_content_drops_are_released(one: Attempt, ca_fields: str, expected: list[str]) -> None:
    bench = Bench(owned=Owned({WEBHOOK: replace(live(), ca_fields=ca_fields)}))
    await bench.stage.release_dropped(one)
    assert bench.signer.asked == expected


async def test_content_that_asks_for_none_costs_nothing() -> None:
    bench, one = Bench(), rendered(attempt(), WantedCertificates())
    assert (await bench.stage.issue_missing(one)).is_complete
    assert (await bench.stage.keep(one)).is_complete
    assert bench.signer.asked == []


async def test_before_the_watch_has_listed_the_secrets_nothing_is_issued() -> None:
    bench, one = Bench(secrets=Secrets(synced=False)), rendered(attempt())
    await bench.stage.issue_missing(one)
    assert (await bench.stage.keep(one)).look_again_seconds == LOOK_AGAIN_SECONDS
    assert bench.signer.asked == []


def test_certificates_issued_before_a_restart_are_known_again_by_rendering() -> None:
    assert Bench().stage.must_render(attempt())
    assert not Bench().stage.must_render(rendered(attempt()))
    assert not Bench(secrets=Secrets(owned=False)).stage.must_render(attempt())


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (rendered(attempt()), ["remove"]),
        (attempt(), []),
        (rendered(attempt(prune=Prune(enabled=False))), []),
    ],
    ids=["pruned", "nobody knows what is wanted", "what left the content stays"],
)
async def test_secrets_of_former_content_are_removed(one: Attempt, expected: list[str]) -> None:
    bench = Bench()
    await bench.stage.remove_unwanted(one)
    assert bench.signer.asked == expected


def test_the_facts_that_were_used_last_are_remembered() -> None:
    state = DeploymentState()
    for number in range(REMEMBERED_CONTENTS):
        state.rendered(content_key(str(number)), ContentFacts())
    state.rendered(content_key("0"), ContentFacts())
    state.rendered(content_key("new"), ContentFacts())
    assert content_key("0") in state.facts
    assert content_key("1") not in state.facts
    assert len(state.facts) == REMEMBERED_CONTENTS


# What is told of them, beside what came of the objects


def test_nothing_to_say_adds_nothing() -> None:
    assert certificate_progress(CertificateResult()) == NO_PROGRESS


@pytest.mark.parametrize(
    ("kept", "seconds"),
    [
        (CertificateResult(look_again_seconds=60.0), 60.0),
        (CertificateResult(waiting=["x"]), LOOK_AGAIN_SECONDS),
        (CertificateResult(waiting=["x"], look_again_seconds=60.0), LOOK_AGAIN_SECONDS),
    ],
    ids=["due later", "waiting", "both"],
)
def test_certificates_that_wait_are_looked_at_again(
    kept: CertificateResult, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting_from_now(monkeypatch)
    (look,) = certificate_progress(kept).facts
    assert (look.cause, look.at) == (Cause.LOOK_AGAIN, seconds)
    well = Progress(reached=Reached.FINISHED) + certificate_progress(kept)
    assert concluded(attempt(), installed=well).schedule == Schedule(attempt_at=seconds)


def test_a_certificate_that_a_client_keeps_changing_is_reported_and_restored_at_the_end_of_its_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counting_from_now(monkeypatch)
    progress = certificate_progress(CertificateResult(resting={SECRET: ('"x"',)}, look_again_seconds=12.0))
    conclusion = concluded(attempt(), installed=Progress(reached=Reached.FINISHED) + progress)
    status, reason, message = conditions(conclusion.status)["Ready"]
    assert (status, reason) == ("False", "FieldsContested")
    assert message.startswith(f'"x" keeps changing {SECRET}; ')
    assert conclusion.schedule == Schedule(failures=1, report_at=12.0)


def test_a_certificate_that_cannot_be_had_is_told_with_its_secret() -> None:
    progress = certificate_progress(CertificateResult(failures=[FAILURE]))
    (failed,) = progress.facts
    assert (failed.cause, failed.objects, failed.text) == (Cause.CONFLICT, (SECRET,), THEIRS)
    well = Progress(reached=Reached.FINISHED) + progress
    conclusion = concluded(attempt(), installed=well)
    assert conditions(conclusion.status)["Ready"] == ("False", "Conflict", THEIRS)
    assert conclusion.schedule.attempt_at is not None


def test_objects_that_could_not_be_applied_are_reported_beside_certificates() -> None:
    half = Progress(facts=failure_facts([REFUSED]), reached=Reached.PARTLY)
    told = conditions(
        concluded(attempt(), wanted=half + certificate_progress(CertificateResult(failures=[FAILURE]))).status
    )
    assert told["Installed"] == ("False", "InstallFailed", f"ConfigMap a is refused && {THEIRS}")
    assert told["Ready"][2] == f"ConfigMap a is refused && {THEIRS}"


@pytest.mark.parametrize("also", [CertificateResult(waiting=["x"]), CertificateResult(look_again_seconds=60.0)])
def test_a_failure_is_told_though_it_is_looked_at_again(
    also: CertificateResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting_from_now(monkeypatch)
    also.failures.append(FAILURE)
    assert causes_of(certificate_progress(also)) == [Cause.CONFLICT, Cause.LOOK_AGAIN]


async def test_certificate_in_a_namespace_that_may_not_be_watched_fails_with_the_rule_that_allows_it() -> None:
    bench, one = Bench(secrets=Secrets(synced=False, denied="secrets is forbidden")), rendered(attempt())
    kept = await bench.stage.keep(one)
    assert bench.secrets.watched == {SECRET.namespace}
    ((key, error),) = kept.failures
    assert key == SECRET
    assert "a right is missing: secrets is forbidden; bind a Role of the namespace" in str(error)
    assert 'apiGroups: [""], resources: [secrets], verbs: [get, list, watch]' in str(error)
    assert bench.signer.asked == []


@pytest.mark.parametrize(
    ("bundle_class", "unseen", "must_render"),
    [(REGISTRY_CLASS, True, True), (REGISTRY_CLASS, False, False), (PLAIN_CLASS, True, False)],
)
def test_content_is_rendered_after_a_restart_where_its_certificates_may_not_be_seen_yet(
    bundle_class: str, *, unseen: bool, must_render: bool
) -> None:
    bench = Bench(secrets=Secrets(owned=False, unseen=unseen))
    one = attempt(bundle=structs.replace(unpacked(), spec=spec(provisioner=bundle_class)))
    assert bench.stage.must_render(one) is must_render
