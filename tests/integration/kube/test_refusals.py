"""The server's refusals: how often we ask, and what the message may say."""

import orjson
import pytest

from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.core.metrics import request_counts
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ForbiddenError,
    InvalidError,
    KindNotServedError,
    NotFoundError,
    SchemaError,
    StaleError,
    TerminatingError,
)
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from tests.integration.kube.objects import DEPLOYMENTS, config_map, deployment, new_kind, thing

PASSWORD = "cGFzc3dvcmQtaHVudGVyMg=="
PLAIN = "hunter2"


async def test_a_schema_error_is_sent_once(client: Client, namespace: str) -> None:
    body = orjson.loads(config_map("a"))
    body["nonsense"] = True
    before = request_counts()

    with pytest.raises(SchemaError):
        await client.apply(CONFIG_MAPS, namespace, "a", orjson.dumps(body), field_manager="us", force=False)

    sent = request_counts() - before
    assert sent == {("apply", "", "configmaps", "", "500"): 1}


async def test_a_kind_that_is_not_served_is_told_from_a_missing_object(client: Client) -> None:
    kind = new_kind()

    with pytest.raises(KindNotServedError, match="404 page not found") as caught:
        await client.apply(kind, "", "a", thing(kind, "a"), field_manager="us", force=False)
    assert isinstance(caught.value, UnavailableError)
    with pytest.raises(KindNotServedError):
        await client.get(kind, "", "a")


async def test_a_taken_name_already_exists(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, namespace, config_map("a"))

    with pytest.raises(AlreadyExistsError, match='configmaps "a" already exists'):
        await client.create(CONFIG_MAPS, namespace, config_map("a"))


async def test_a_replace_that_is_late_is_stale(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, namespace, config_map("a"))
    await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"v":"1"}}')

    with pytest.raises(StaleError, match="the object has been modified"):
        await client.replace(CONFIG_MAPS, namespace, "a", created.json or b"")


async def test_a_missing_right_names_the_right_and_whom(client: Client, namespace: str) -> None:
    unbound = client.acting_as("system:serviceaccount:default:unbound")

    with pytest.raises(ForbiddenError) as caught:
        await unbound.apply(CONFIG_MAPS, namespace, "a", config_map("a"), field_manager="us", force=False)

    assert isinstance(caught.value, AccessError)
    assert 'User "system:serviceaccount:default:unbound" cannot patch resource "configmaps"' in str(caught.value)


async def test_a_namespace_on_its_way_out_is_terminating(client: Client, namespace: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "holder", "finalizers": ["rukpak.test/hold"]},
    }
    await client.create(CONFIG_MAPS, namespace, orjson.dumps(body))
    left = await client.delete(NAMESPACES, "", namespace)
    try:
        with pytest.raises(TerminatingError) as caught:
            await client.apply(CONFIG_MAPS, namespace, "a", config_map("a"), field_manager="us", force=False)
    finally:
        await client.patch(CONFIG_MAPS, namespace, "holder", b'{"metadata":{"finalizers":null}}')

    assert left is not None
    assert left.is_deleted
    assert isinstance(caught.value, UnavailableError)


def secret(**fields: object) -> bytes:
    return orjson.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(secret(data={"a": PLAIN}), ApiError, id="not base64"),
        pytest.param(secret(data={"a": 12345678}), SchemaError, id="a number where bytes are meant"),
        pytest.param(secret(data={PLAIN + "/!": PASSWORD}), InvalidError, id="a key that is no key"),
        pytest.param(secret(type="kubernetes.io/tls", data={"tls.crt": PASSWORD}), InvalidError, id="wrong content"),
        pytest.param(secret(stringData=PLAIN), SchemaError, id="text where a map is meant"),
    ],
)
async def test_refusal_of_a_secret_holds_no_value(
    client: Client, namespace: str, body: bytes, expected: type[ApiError]
) -> None:
    with pytest.raises(expected) as caught:
        await client.apply(SECRETS, namespace, "s", body, field_manager="us", force=False)

    told = [str(caught.value), repr(caught.value), caught.value.message, *map(repr, caught.value.causes)]
    assert not [text for text in told for value in (PASSWORD, "12345678", f"{PLAIN}:", f'"{PLAIN}"') if value in text]
    assert f"Secret {namespace}/s" in str(caught.value)


async def test_a_conflict_about_a_secret_names_manager_and_key(client: Client, namespace: str) -> None:
    await client.apply(SECRETS, namespace, "s", secret(data={"a": PASSWORD}), field_manager="helm", force=False)

    with pytest.raises(ApiError, match=r'apply Secret \S+: conflict with "helm": \.data\.a'):
        await client.apply(SECRETS, namespace, "s", secret(data={"a": "eA=="}), field_manager="us", force=False)


async def test_harmless_texts_about_secrets_stay(client: Client, namespace: str) -> None:
    with pytest.raises(NotFoundError, match='secrets "s" not found'):
        await client.get(SECRETS, namespace, "s")
    with pytest.raises(ForbiddenError, match='cannot get resource "secrets"'):
        await client.acting_as("system:serviceaccount:default:unbound").get(SECRETS, namespace, "s")


async def test_a_name_never_leads_to_another_path(client: Client, namespace: str) -> None:
    for name in (".", "..", "../../secrets/s", "a%2fb"):
        with pytest.raises(InvalidError, match="not a valid object name"):
            await client.get(CONFIG_MAPS, namespace, name)
    for name in ("a?b", "a#b", "a b", "ä", "a;b"):
        with pytest.raises(NotFoundError) as caught:
            await client.get(CONFIG_MAPS, namespace, name)
        assert f'"{name}"' in str(caught.value)


async def test_deleting_without_a_name_does_not_delete_everything(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, namespace, config_map("a"))

    with pytest.raises(InvalidError):
        await client.delete(CONFIG_MAPS, namespace, "")

    assert (await client.get_metadata(CONFIG_MAPS, namespace, "a")).name == "a"


async def test_a_broken_deployment_is_invalid_with_its_fields(client: Client, namespace: str) -> None:
    body = orjson.loads(deployment("d"))
    body["spec"]["template"]["spec"]["containers"] = []

    with pytest.raises(InvalidError) as caught:
        await client.create(DEPLOYMENTS, namespace, orjson.dumps(body))

    assert caught.value.reason == "Invalid"
    assert [cause.field for cause in caught.value.causes] == ["spec.template.spec.containers"]
