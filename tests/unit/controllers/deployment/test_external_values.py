"""Values that charts take from Secrets and ConfigMaps: their order, their digests, and how long they are kept."""

from typing import Any

import pytest

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation, RecordedValues
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.names import HELM_CLASS
from rukpak_py.controllers.deployment.external_values import ExternalValues, FoundValues, values_fact
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.keyed_digests import DigestKey
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.helm.request import merged_values
from rukpak_py.kube.client import Client
from tests.unit.controllers.fakes import NOW, FakeDigestKeys, FakeValuesObjects, ImpersonatingClient
from tests.unit.controllers.values import UID, deployment

PASSWORD = b"password: hunter22\n"
SECRET, MAP = {"kind": "Secret", "name": "s"}, {"kind": "ConfigMap", "name": "m"}
OPTIONAL = {"kind": "Secret", "name": "o", "optional": True}
KEY_OF_SECRET, KEY_OF_MAP = ObjectKey("", "Secret", "system", "s"), ObjectKey("", "ConfigMap", "system", "m")


class Bench:
    def __init__(self, **objects: bytes) -> None:
        """`objects`: values by name, under the default key."""
        kinds = {"s": "Secret", "o": "Secret", "m": "ConfigMap"}
        data = {(kinds[name], name): {"values.yaml": text} for name, text in objects.items()}
        self.objects, self.keys = FakeValuesObjects(data), FakeDigestKeys()
        self.states = DeploymentStates()
        self.client = ImpersonatingClient()
        identities = Identities(self.client.as_client(), system_namespace="system")
        self.values = ExternalValues(self.objects, self.keys, self.states, identities=identities)
        self.states.attach(self.values.ended)

    def state(self, uid: str = UID) -> DeploymentState:
        found = self.states.of(uid)
        assert found is not None
        return found

    async def found(self, *references: dict[str, Any], **given: Any) -> FoundValues:
        one = chart(*references, **given)
        return await self.values.of(one, self.state(one.metadata.uid))


def chart(*references: dict[str, Any], **given: Any) -> BundleDeployment:
    return deployment(**{"provisioner": HELM_CLASS, "config": {"valuesFrom": list(references)}, **given})


def names(found: FoundValues) -> list[str]:
    return [one.name for one in found.recorded]


async def test_later_ones_win_and_the_order_is_that_of_the_list() -> None:
    bench = Bench(s=b"a: 1\nb: 1\n", m=b"b: 2\n")
    there, back = await bench.found(SECRET, MAP), await bench.found(MAP, SECRET)
    assert merged_values(there.documents) == {"a": 1, "b": 2}
    assert merged_values(back.documents) == {"a": 1, "b": 1}
    assert (names(there), names(back)) == (["s", "m"], ["m", "s"])


async def test_an_optional_object_may_be_missing() -> None:
    bench = Bench(s=b"a: 1")
    assert names(await bench.found(OPTIONAL, SECRET, {**SECRET, "key": "other", "optional": True})) == ["s"]
    bench.objects.data["Secret", "o"] = {"values.yaml": b"b: 1"}
    assert names(await bench.found(OPTIONAL, SECRET)) == ["o", "s"]


async def test_a_missing_key_is_named_and_no_other_is() -> None:
    error = (await Bench(s=PASSWORD).found({**SECRET, "key": "prod.yaml"})).error
    assert isinstance(error, UnavailableError)
    text = 'Secret system/s has no key "prod.yaml"; add it, or set key to one that it has'
    assert str(error) == f"spec.config.valuesFrom[0]: {text}"


async def test_fact_about_values_has_the_objects_that_are_missing() -> None:
    found = await Bench(m=b"a: 1").found(MAP, SECRET, OPTIONAL, {**MAP, "key": "other"})
    assert found.error is not None
    fact = values_fact(found.error, found.objects)
    assert (fact.cause, fact.objects) == (Cause.VALUES_MISSING, (KEY_OF_SECRET, KEY_OF_MAP))


async def test_fact_about_values_has_the_object_that_could_not_be_read() -> None:
    bench = Bench()
    bench.objects.failing = AccessError("cannot get Secret system/s")
    found = await bench.found(SECRET, MAP)
    assert found.error is not None
    fact = values_fact(found.error, found.objects)
    assert (fact.cause, fact.objects) == (Cause.VALUES_DENIED, (KEY_OF_SECRET,))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b'a: "hunter2\\q"', "invalid YAML at line 1, column "),
        (b"a: 1\nhunter2: [\n", "invalid YAML at line 3, column 1"),
        (b"a: \xffhunter2", "invalid YAML at line 1"),
        (b"hunter2", "values must be an object, got a string"),
        (b"- hunter2", "values must be an object, got a list"),
        (b"a: &a [hunter2, *a]", "invalid YAML at line 1, column "),
    ],
)
async def test_a_document_that_is_wrong_is_told_by_its_place_and_not_quoted(text: bytes, told: str) -> None:
    found = await Bench(s=text).found(SECRET)
    with pytest.raises(ContentError) as caught:
        merged_values(found.documents)
    assert str(caught.value).startswith(f"read chart values: Secret system/s, key values.yaml: {told}")
    assert "hunter2" not in f"{caught.value}{found!r}"


async def test_digests_are_of_what_is_there_and_tell_nothing_else() -> None:
    (first,) = (await Bench(s=PASSWORD).found(SECRET)).recorded
    assert (await Bench(s=PASSWORD).found(SECRET)).recorded == (first,)
    others = [
        (await Bench(s=b"password: x").found(SECRET)).recorded[0],
        (await Bench(m=PASSWORD).found(MAP)).recorded[0],
    ]
    bench = Bench(s=PASSWORD)
    bench.keys.key = DigestKey(b"x" * 32)
    others += (await bench.found(SECRET)).recorded
    assert len({first.digest, *(one.digest for one in others)}) == 4


async def test_installed_values_are_recognised_after_the_key_was_lost() -> None:
    (before,) = (await Bench(s=PASSWORD).found(SECRET)).recorded
    options = recorded(InstallOptions(values_from=(before,)))
    status = BundleDeploymentStatus(history=(Installation(bundle="b", digest="d", time=NOW, options=options),))
    bench = Bench(s=PASSWORD)
    bench.keys.key = DigestKey(b"x" * 32)
    (after,) = (await bench.found(SECRET, status=status)).recorded
    assert (after.digest, bool(after.current_digest)) == (before.digest, True)


async def test_objects_are_remembered_while_a_deployment_refers_to_them() -> None:
    bench = Bench(s=b"a: 1", m=b"a: 1")
    await bench.found(SECRET, MAP)
    await bench.found(SECRET, uid="another")
    assert bench.objects.retained == {ValuesObject("Secret", "s"), ValuesObject("ConfigMap", "m")}
    assert [one.name for one in bench.state("another").values.latest] == ["s"]
    await bench.found(MAP)
    assert bench.objects.retained == {ValuesObject("ConfigMap", "m"), ValuesObject("Secret", "s")}
    bench.states.end("another")
    assert bench.objects.retained == {ValuesObject("ConfigMap", "m")}
    await bench.found()
    assert bench.objects.retained == set()
    assert bench.state().values.latest == ()


async def test_a_deployment_that_goes_while_its_values_are_read_leaves_none_of_them() -> None:
    bench = Bench(s=PASSWORD)
    one, state, read = chart(SECRET), bench.state(), bench.objects.read

    async def read_meanwhile(wanted: ValuesObject, client: Client) -> dict[str, bytes] | None:
        bench.states.end(one.metadata.uid)
        return await read(wanted, client)

    bench.objects.read = read_meanwhile  # type: ignore[method-assign,assignment]
    assert await bench.values.of(one, state) == FoundValues()
    assert bench.objects.retained == set()
    assert state.mask.hide("hunter22") == "hunter22", "nothing of it was learnt"


@pytest.mark.parametrize("given", [{"config": None}, {"config": {"values": "a: 1"}}, {"provisioner": "other"}])
async def test_without_references_nothing_is_asked(given: dict[str, Any]) -> None:
    bench = Bench()
    bench.objects.failing = AssertionError()
    assert await bench.found(SECRET, **given) == FoundValues()
    assert bench.keys.asked == 0


def test_a_recorded_value_is_small() -> None:
    """Five entries of sixteen stand in one status."""
    assert len(RecordedValues(kind="ConfigMap", name="n", key="k", digest=DigestKey.new().digest(b"x")).digest) < 100


AS_INSTALLER = {"install_namespace": "shop", "service_account_name": "installer"}
INSTALLER = Account("shop", "installer")


async def test_values_are_read_in_the_namespace_of_the_account_and_with_its_rights() -> None:
    bench = Bench(s=PASSWORD)
    await bench.found(SECRET)
    await bench.found(SECRET, **AS_INSTALLER)
    asked: list[Any] = bench.objects.asked
    assert [(one, client.user) for one, client in asked] == [
        (ValuesObject("Secret", "s"), ""),
        (ValuesObject("Secret", "s", INSTALLER), INSTALLER.user),
    ]
    assert (await bench.found(SECRET, **AS_INSTALLER)).documents[0].origin == "Secret shop/s, key values.yaml"
    missing = (await bench.found(MAP, **AS_INSTALLER)).error
    assert str(missing).startswith("spec.config.valuesFrom[0]: ConfigMap shop/m does not exist")


@pytest.mark.parametrize(
    ("account", "is_proven", "is_kept"),
    [("a", True, True), ("a", False, False), ("b", True, False), ("b", False, False)],
)
async def test_values_of_a_former_or_unproven_account_are_forgotten(
    account: str, *, is_proven: bool, is_kept: bool
) -> None:
    bench = Bench(s=PASSWORD)
    await bench.found(SECRET, install_namespace="shop", service_account_name="a")
    state = bench.state()
    assert state.values.objects
    now = chart(SECRET, install_namespace="shop", service_account_name=account)
    bench.values.drop_former(now, state, is_proven=is_proven)
    assert bool(state.values.objects) is is_kept


async def test_values_of_the_system_namespace_need_no_proof() -> None:
    bench = Bench(s=PASSWORD)
    await bench.found(SECRET)
    bench.values.drop_former(chart(SECRET), bench.state(), is_proven=False)
    assert bench.state().values.objects


async def test_equal_values_in_another_namespace_are_other_values_and_in_the_same_one_they_are_not() -> None:
    bench = Bench(s=PASSWORD)
    (before,) = (await bench.found(SECRET)).recorded
    (moved,) = (await bench.found(SECRET, **AS_INSTALLER)).recorded
    (stayed,) = (await bench.found(SECRET, install_namespace="system", service_account_name="installer")).recorded
    assert (before.namespace, moved.namespace) == ("", "shop")
    assert moved.digest != before.digest
    assert stayed == before


async def test_values_that_moved_are_not_recognised_after_the_key_was_lost() -> None:
    (before,) = (await Bench(s=PASSWORD).found(SECRET)).recorded
    options = recorded(InstallOptions(values_from=(before,)))
    status = BundleDeploymentStatus(history=(Installation(bundle="b", digest="d", time=NOW, options=options),))
    bench = Bench(s=PASSWORD)
    bench.keys.key = DigestKey(b"x" * 32)
    (after,) = (await bench.found(SECRET, status=status, **AS_INSTALLER)).recorded
    assert (after.digest == before.digest, after.current_digest) == (False, "")
