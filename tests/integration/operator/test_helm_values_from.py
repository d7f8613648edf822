"""Values of charts in Secrets and ConfigMaps: a change is an upgrade, and nothing tells what is in them.

Each rendering makes another random token, so a rendering too much shows.
"""

import base64
import shutil
from typing import Any

import orjson
import pytest

from rukpak_py.api.names import DIGEST_KEY_SECRET
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, Resource
from tests.integration.listing import listed
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import Calls, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document
from tests.waiting import eventually

EVENTS = Resource(gvk=GroupVersionKind("events.k8s.io", "v1", "Event"), plural="events", namespaced=True)
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {order: {{ .Values.order }}, size: {{ .Values.size }}, token: {{ randAlphaNum 12 }}}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: {{ .Values.password }}}
"""
PASSWORD, NEXT_PASSWORD = "correct-horse-battery", "staple-the-horse"
BASE, LOGIN = {"kind": "ConfigMap", "name": "base"}, {"kind": "Secret", "name": "login", "key": "shop.yaml"}
OPTIONAL = {"kind": "Secret", "name": "extra", "optional": True}
CONFIG = {"valuesFrom": [BASE, LOGIN, OPTIONAL], "values": {"order": "last"}}
READS = {("get", "secrets", "200"), ("get", "secrets", "404"), ("get", "configmaps", "200")}


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram) -> Operator:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def put(tenant: Tenant, resource: Resource, name: str, data: dict[str, str]) -> None:
    """Secrets take texts, too."""
    field = "stringData" if resource is SECRETS else "data"
    body = {"apiVersion": "v1", "kind": resource.gvk.kind, "metadata": {"name": name}, field: data}
    await tenant.admin.apply(resource, tenant.system, name, orjson.dumps(body), field_manager="user", force=True)


async def put_values(tenant: Tenant, password: str = PASSWORD) -> None:
    await put(tenant, CONFIG_MAPS, "base", {"values.yaml": "order: base\nsize: small\npassword: none\n"})
    await put(tenant, SECRETS, "login", {"shop.yaml": f"order: login\npassword: {password}\n"})


async def install(tenant: Tenant) -> Document:
    await deploy(tenant, await publish(tenant, TEMPLATE), config=CONFIG)
    return await tenant.ready()


async def data(tenant: Tenant, name: str = "settings") -> dict[str, str]:
    found: dict[str, str] = (await tenant.read(CONFIG_MAPS, tenant.namespace, name))["data"]
    return found


async def is_corrected(tenant: Tenant, expected: dict[str, str]) -> None:
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "settings")

    async def look() -> bool:
        found = await listed(tenant.admin, CONFIG_MAPS, namespace=tenant.namespace)
        return expected in [one.get("data") for one in found]

    await eventually(look, what="what is installed was put back as it was")


async def installed(tenant: Tenant, number: int) -> list[Document]:
    """The history once it has so many entries."""
    found = await tenant.until(
        lambda seen: len(seen["status"]["history"]) == number and condition(seen, "Ready")["status"] == "True",
        what=f"{number} installations",
    )
    history: list[Document] = found["status"]["history"]
    return history


async def events(tenant: Tenant) -> list[Document]:
    return await listed(tenant.admin, EVENTS, field_selector=f"regarding.name={tenant.name}")


async def were_told(tenant: Tenant, *reasons: str) -> None:
    """Whether these Events and no others were told, each once."""

    async def look() -> bool:
        found = [(one["reason"], (one.get("series") or {}).get("count", 1)) for one in await events(tenant)]
        return sorted(found) == [(reason, 1) for reason in sorted(reasons)]

    await eventually(look, what=f"the Events are {reasons}")


def of_values(calls: Calls) -> dict[Any, int]:
    return {call: count for call, count in calls.items() if call in READS}


def writes(calls: Calls) -> list[Any]:
    return [call for call in calls if call[0] not in {"get", "list", "watch"}]


async def says_nothing_secret(tenant: Tenant, operator: Operator) -> None:
    said = [operator.log, orjson.dumps(await tenant.deployment()).decode(), orjson.dumps(await events(tenant)).decode()]
    assert [password for password in (PASSWORD, NEXT_PASSWORD) for text in said if password in text] == []


async def test_a_change_is_one_upgrade_and_a_restart_is_none(tenant: Tenant, operator: Operator) -> None:
    await put_values(tenant)
    (entry,) = (await install(tenant))["status"]["history"]
    first = await data(tenant)
    assert (first["order"], first["size"]) == ("last", "small")
    assert [one["name"] for one in entry["options"]["valuesFrom"]] == ["base", "login"]
    digests = [entry["renderingDigest"], *(one["digest"] for one in entry["options"]["valuesFrom"])]
    assert {digest.split(":")[0] for digest in digests} == {"hmac-sha256"}

    await put_values(tenant, NEXT_PASSWORD)
    await installed(tenant, 2)
    second = await data(tenant)
    assert second["token"] != first["token"]
    secret = (await tenant.read(SECRETS, tenant.namespace, "login"))["data"]
    assert secret == {"password": "c3RhcGxlLXRoZS1ob3JzZQ=="}
    await were_told(tenant, "Installed", "Upgraded")

    before = await tenant.deployment()
    await operator.stop()
    await operator.start()
    sent = await settled(operator)
    reads = of_values(sent)
    del reads["get", "secrets", "200"]  # certificates are among them
    assert reads == {("get", "configmaps", "200"): 1, ("get", "secrets", "404"): 1}
    assert writes(sent) == []
    assert (await tenant.deployment())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]

    await put_values(tenant)  # back to what the first installation had
    await installed(tenant, 3)
    assert await data(tenant) == first
    await says_nothing_secret(tenant, operator)


async def test_missing_values_are_waited_for_and_what_is_installed_survives_them(
    tenant: Tenant, operator: Operator
) -> None:
    await deploy(tenant, await publish(tenant, TEMPLATE), config=CONFIG)
    text = f"spec.config.valuesFrom[1]: Secret {tenant.system}/login does not exist; create it"
    found = await tenant.until(lambda seen: text in condition(seen, "HasValidBundle").get("message", ""), what="told")
    assert (condition(found, "Ready")["reason"], condition(found, "Stalled")) == ("Unavailable", {})
    await put_values(tenant)
    await tenant.ready()
    first = await data(tenant)

    await tenant.admin.delete(SECRETS, tenant.system, "login")
    found = await tenant.until(lambda seen: text in condition(seen, "HasValidBundle")["message"], what="told")
    assert condition(found, "Installed")["status"] == "True"
    await is_corrected(tenant, first)
    await operator.stop()
    await operator.start()
    await is_corrected(tenant, first)
    found = await tenant.deployment()
    assert text in condition(found, "HasValidBundle")["message"]

    await put(tenant, SECRETS, "login", {"shop.yaml": f"password: {NEXT_PASSWORD}: {PASSWORD}\n"})
    text = f"read chart values: Secret {tenant.system}/login, key shop.yaml: invalid YAML at line 1, column "
    await tenant.until(lambda seen: text in condition(seen, "HasValidBundle")["message"], what="told")
    await is_corrected(tenant, first)
    await put_values(tenant)
    assert len((await tenant.ready())["status"]["history"]) == 1
    assert await data(tenant) == first

    await tenant.admin.delete(SECRETS, tenant.system, "login")
    await operator.stop()
    shutil.rmtree(operator.store)
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "settings")
    await operator.start()
    text = "the rendering that was installed is lost"
    await tenant.until(lambda seen: text in condition(seen, "Installed").get("message", ""), what="it is told")
    await says_nothing_secret(tenant, operator)


async def test_a_lost_key_installs_nothing_anew(tenant: Tenant, operator: Operator) -> None:
    await put_values(tenant)
    (entry,) = (await install(tenant))["status"]["history"]
    first, key = await data(tenant), (await tenant.read(SECRETS, tenant.system, DIGEST_KEY_SECRET))["data"]

    async def is_back() -> bool:
        found = await listed(tenant.admin, SECRETS, namespace=tenant.system)
        return key in [one["data"] for one in found if one["metadata"]["name"] == DIGEST_KEY_SECRET]

    await tenant.admin.delete(SECRETS, tenant.system, DIGEST_KEY_SECRET)
    await eventually(is_back, what="the Secret is there again, with the same key")

    await operator.stop()
    await tenant.admin.delete(SECRETS, tenant.system, DIGEST_KEY_SECRET)
    await operator.start()
    found = await tenant.until(
        lambda seen: "currentDigest" in seen["status"]["history"][0]["options"]["valuesFrom"][0],
        what="the values are known under the new key",
    )
    (after,) = found["status"]["history"]
    assert after["renderingDigest"] == entry["renderingDigest"]
    await is_corrected(tenant, first)
    await were_told(tenant, "Installed", "DriftCorrected")
    await put_values(tenant, NEXT_PASSWORD)
    newest, _ = await installed(tenant, 2)
    assert newest["options"]["valuesFrom"][1]["digest"].split(":")[1] != entry["renderingDigest"].split(":")[1]
    assert (await data(tenant))["token"] != first["token"]


CANARY = "Canary4f1d7c2b9e"
_CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: b}}\n"
LEAKS = {
    "a label that the API server quotes": _CONFIG_MAP.replace("a: b", 'a: "{{ .Values.password }}/!"'),
    "a label in Base64": _CONFIG_MAP.replace("a: b", 'a: "{{ .Values.password | b64enc }}/!"'),
    "a name": _CONFIG_MAP.replace("name: a", 'name: "{{ .Values.password }}"'),
    "a name in lower case, and a label": _CONFIG_MAP.replace(
        "name: a", 'name: "x-{{ .Values.password | lower }}"'
    ).replace("a: b", 'a: "no/!"'),
    "a kind that does not exist": _CONFIG_MAP.replace("ConfigMap", "K{{ .Values.password | upper }}x"),
    "a group that does not exist": _CONFIG_MAP.replace("v1", "{{ .Values.password | lower }}.example.com/v1"),
    "fail": "{{ fail .Values.password }}",
    "fail in upper case": "{{ fail (upper .Values.password) }}",
    "fail in Base64": "{{ fail (b64enc (print `x` .Values.password)) }}",
}


@pytest.mark.parametrize("leak", LEAKS)
async def test_a_refusal_does_not_say_what_values_of_secrets_hold(
    tenant: Tenant, operator: Operator, leak: str
) -> None:
    await put(tenant, SECRETS, "login", {"shop.yaml": f"password: {CANARY}\n"})
    await deploy(tenant, await publish(tenant, LEAKS[leak]), config={"valuesFrom": [LOGIN]})

    found = await tenant.until(lambda seen: "***" in str(condition(seen, "Ready").get("message")), what="it is refused")

    said = [operator.log, str(found["status"]["conditions"]), orjson.dumps(await events(tenant)).decode()]
    forms = {CANARY.lower(), *(_base64(f"{before}{CANARY}") for before in ("", "x"))}
    assert [form for form in forms for text in said if form in text.lower()] == []


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode().strip("=").lower()
