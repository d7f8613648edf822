"""When an upgrade is judged by what it would change in Secrets, with what it is compared, and what is told."""

import base64
import dataclasses
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation
from rukpak_py.api.names import HELM_CLASS
from rukpak_py.apply.plan import Action
from rukpak_py.apply.secret_values import Comparison
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.generated_secrets import GeneratedSecrets, RenderedAgain
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import NotFoundError
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.fakes import NOW, refusal
from tests.unit.controllers.values import deployment, spec, unpacked

WAITS = Progress(facts=(Fact(cause=Cause.RENDERING),))
CERTIFICATES = {"k": b"-----BEGIN CERTIFICATE-----\nold"}, {"k": b"-----BEGIN CERTIFICATE-----\nnew"}


def secret(values: Mapping[str, bytes], namespace: str = "") -> dict[str, Any]:
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}, "data": data}


class Bench:
    """The upgrade changes one Secret, from `live` to `wanted`. `again`: what another rendering of it gives."""

    def __init__(self, live: Mapping[str, bytes] | None, wanted: Mapping[str, bytes]) -> None:
        self.live = live
        self.again: Mapping[str, bytes] | Progress = {}
        self.error = ""
        self.rendered: list[Attempt | None] = []
        self.read: list[ObjectKey] = []
        self.stage = GeneratedSecrets(cast("Any", self))
        key = ObjectKey("", "Secret", "ns", "s")
        change = SimpleNamespace(
            action=Action.UPDATE, key=key, payload=SimpleNamespace(body=orjson.dumps(secret(wanted, "ns")))
        )
        self.changes = [change]
        self.planned = SimpleNamespace(plan=SimpleNamespace(changes=self.changes), target=SimpleNamespace(client=self))

    async def get(self, _resource: object, namespace: str, name: str) -> bytes:
        self.read.append(ObjectKey("", "Secret", namespace, name))
        if self.live is None:
            raise refusal(NotFoundError)
        return orjson.dumps(secret(self.live, namespace))

    async def of(self, wanted: Attempt, installed: Attempt | None) -> RenderedAgain | Progress:
        self.rendered += [wanted, installed]
        if isinstance(self.again, Progress):
            return self.again
        compared = Comparison(installed={ObjectKey("", "Secret", "ns", "s"): self.again})
        return RenderedAgain(compared=compared, error=self.error)

    async def judge(
        self, wanted: Attempt, active: Attempt | None, *, rendering: str = "wanted"
    ) -> Progress | tuple[Fact, ...]:
        return await self.stage.judge(wanted, active, cast("Any", self.planned), rendering=rendering)


def chart(*, is_installed: bool = True, **config: Any) -> Attempt:
    bundle = unpacked("b")
    entry = Installation(bundle="b", digest="d", time=NOW, rendering_digest="installed")
    status = BundleDeploymentStatus(active_bundle="b", history=(entry,)) if is_installed else BundleDeploymentStatus()
    return attempt(
        of=deployment(provisioner=HELM_CLASS, config=config, status=status),
        bundle=replace(bundle, spec=spec(provisioner=HELM_CLASS)),
    )


def text_of(found: Progress | tuple[Fact, ...], cause: Cause) -> str:
    facts = found.facts if isinstance(found, Progress) else found
    (fact,) = facts
    assert fact.cause is cause
    return fact.detail.text(fact.objects)


async def test_a_password_that_comes_out_differently_refuses_the_upgrade_until_it_is_listed() -> None:
    bench, wanted, active = Bench({"k": b"old"}, {"k": b"new"}), chart(a="1"), chart()
    bench.again = {"k": b"another"}
    assert text_of(await bench.judge(wanted, active), Cause.GENERATED_VALUES) == (
        "generated values would be replaced: Secret ns/s, key k; to keep them, set them in "
        "spec.config.values or spec.config.valuesFrom; to accept new ones, set spec.config.acceptNewSecrets: [s/k]"
    )
    assert bench.rendered == [wanted, active]
    for entry in ("s/k", "ns/s/k"):
        assert await bench.judge(chart(a="1", acceptNewSecrets=[entry]), active) == ()
    assert len(bench.rendered) == 2, "nothing is rendered for what is listed"


@pytest.mark.parametrize(
    ("live", "wanted"), [({"k": b"1"}, {"k": b"1"}), ({}, {"k": b"1"}), ({"k": b"1"}, {}), (None, {"k": b"1"})]
)
async def test_nothing_is_rendered_where_no_value_changes(
    live: Mapping[str, bytes] | None, wanted: Mapping[str, bytes]
) -> None:
    bench = Bench(live, wanted)
    assert await bench.judge(chart(a="1"), chart()) == ()
    assert (len(bench.read), bench.rendered) == (1, [])


async def test_nothing_is_read_where_the_plan_changes_no_secret() -> None:
    bench = Bench({"k": b"old"}, {"k": b"new"})
    bench.changes[0].action = Action.LEAVE
    assert await bench.judge(chart(a="1"), chart()) == ()
    assert bench.read == []


async def test_a_rendering_that_has_passed_is_not_judged_again() -> None:
    """Half of it may be written, and the values of the other half differ still."""
    bench, wanted = Bench({"k": b"old"}, {"k": b"new"}), chart(a="1")
    bench.again = {"k": b"old"}
    assert [await bench.judge(wanted, chart()) for _ in range(2)] == [(), ()]
    assert (len(bench.read), len(bench.rendered)) == (1, 2)


async def test_a_judgement_waits_for_the_rendering() -> None:
    bench, wanted = Bench({"k": b"old"}, {"k": b"new"}), chart(a="1")
    bench.again = WAITS
    assert await bench.judge(wanted, chart()) is WAITS
    bench.again = {"k": b"another"}
    assert "key k" in text_of(await bench.judge(wanted, chart()), Cause.GENERATED_VALUES)


async def test_certificates_are_told_and_pass() -> None:
    bench = Bench(*CERTIFICATES)
    bench.again = {"k": b"-----BEGIN CERTIFICATE-----\nanother"}
    assert text_of(await bench.judge(chart(a="1"), chart()), Cause.CERTIFICATES_RENEWED) == (
        "generated certificates and private keys are renewed: Secret ns/s, key k"
    )


async def test_values_that_cannot_be_rendered_again_count_as_generated() -> None:
    bench = Bench({"k": b"old"}, {"k": b"new"})
    bench.error = "no such value"
    found = text_of(await bench.judge(chart(a="1"), chart()), Cause.GENERATED_VALUES)
    assert found.startswith("values that may be generated would be replaced: Secret ns/s, key k; ")
    assert found.endswith("[s/k] (what is installed cannot be rendered to compare: no such value)")


@pytest.mark.parametrize("action", [Action.TAKE, Action.TAKE_BACK, Action.UPDATE])
async def test_the_first_installation_is_judged_too(action: Action) -> None:
    """Objects are taken over, or half an installation has left them: its database may run already."""
    bench, wanted = Bench({"k": b"old"}, {"k": b"new"}), chart(a="1", is_installed=False)
    bench.changes[0].action = action
    bench.again = {"k": b"another"}
    assert "key k" in text_of(await bench.judge(wanted, None), Cause.GENERATED_VALUES)
    assert bench.rendered == [wanted, None]


async def test_an_installed_rendering_is_put_back_unjudged() -> None:
    bench = Bench({"k": b"drifted"}, {"k": b"old"})
    assert await bench.judge(chart(), chart(), rendering="installed") == ()
    assert bench.read == []


async def test_another_rendering_of_what_is_installed_is_judged() -> None:
    """A template with another label has the same content: with lost storage it is rendered anew."""
    bench, active = Bench({"k": b"old"}, {"k": b"new"}), chart()
    bench.again = {"k": b"another"}
    assert "key k" in text_of(await bench.judge(chart(), active, rendering="another"), Cause.GENERATED_VALUES)


async def test_a_rendering_that_has_passed_is_judged_again_after_other_content_was_wanted() -> None:
    """It may be rendered anew by then."""
    bench, wanted = Bench({"k": b"old"}, {"k": b"new"}), chart(a="1")
    bench.again = {"k": b"old"}
    assert await bench.judge(wanted, chart()) == ()
    back = dataclasses.replace(chart(), state=wanted.state, is_wanted=True)
    assert await bench.judge(back, back, rendering="installed") == ()
    bench.again = {"k": b"another"}
    assert "key k" in text_of(await bench.judge(wanted, chart()), Cause.GENERATED_VALUES)


async def test_five_values_are_named_and_all_are_listed() -> None:
    names = [f"k{number}" for number in range(7)]
    bench = Bench(dict.fromkeys(names, b"old"), dict.fromkeys(names, b"new"))
    bench.again = dict.fromkeys(names, b"another")
    found = text_of(await bench.judge(chart(a="1"), chart()), Cause.GENERATED_VALUES)
    assert "key k4 and 2 more; " in found
    assert found.endswith(f"[{', '.join(f's/{name}' for name in names)}]")
    assert not any(value in found for value in ("old", "another"))
