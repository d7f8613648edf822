"""Charts that make passwords anew at each rendering: an upgrade changes none that the user has not listed."""

import base64
import shutil
from typing import Any

import orjson
import pytest

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS
from tests.integration.listing import listed
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.integration.scenarios.stage import EVENTS
from tests.manifests import Document
from tests.unit.charts import config_map as config_map_template
from tests.waiting import eventually

SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {value: {{ .Values.value | default "one" | quote }}}
"""
RANDOM = f"""{SETTINGS}---
apiVersion: v1
kind: Secret
metadata: {{name: login}}
stringData:
  user: {{{{ .Values.user | default "admin" | quote }}}}
  password: {{{{ .Values.password | default (randAlphaNum 20) | quote }}}}
"""
AUTHORITY = f"""{SETTINGS}---
{{{{- $made := genCA "ca" 10 }}}}
apiVersion: v1
kind: Secret
metadata: {{name: login}}
stringData: {{password: {{{{ $made.Cert | quote }}}}, tls.key: {{{{ $made.Key | quote }}}}}}
"""
REFUSED = "generated values would be replaced: Secret {namespace}/login, key password;"
PASTE = "acceptNewSecrets: [login/password]"


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram) -> Operator:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def password(tenant: Tenant) -> str:
    found = await tenant.read(SECRETS, tenant.namespace, "login")
    return base64.b64decode(found["data"]["password"]).decode()


async def value(tenant: Tenant) -> str:
    found: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["value"]
    return found


async def refused(tenant: Tenant, *texts: str) -> Document:
    told = (REFUSED.format(namespace=tenant.namespace), *texts)

    def is_told(seen: Document) -> bool:
        installed = condition(seen, "Installed")
        is_new = installed.get("observedGeneration") == seen["metadata"]["generation"]
        return is_new and installed["reason"] == "UpgradeFailed" and all(text in installed["message"] for text in told)

    return await tenant.until(is_told, what="the upgrade is refused")


async def upgraded(tenant: Tenant, revision: int) -> Document:
    return await tenant.until(
        lambda seen: is_ready(seen) and seen["status"]["history"][0]["revision"] == revision,
        what=f"revision {revision} is Ready",
    )


def config(accepted: list[str] | None = None, **values: Any) -> Document:
    return {"values": values} if accepted is None else {"values": values, "acceptNewSecrets": accepted}


@pytest.mark.parametrize("is_lost", [False, True], ids=["kept", "lost"])
async def test_an_upgrade_that_would_change_a_password_is_refused_until_it_is_listed(
    tenant: Tenant, operator: Operator, *, is_lost: bool
) -> None:
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items)
    await tenant.ready()
    made = await password(tenant)
    if is_lost:
        await operator.stop()
        shutil.rmtree(operator.store)
        await operator.start()

    await deploy(tenant, items, config=config(value="two"))
    seen = await refused(tenant, PASTE, "spec.config.values")
    assert condition(seen, "Stalled")["status"] == "True"
    assert (await password(tenant), await value(tenant)) == (made, "one")
    assert made not in orjson.dumps(seen).decode()
    assert made not in operator.log
    if not is_lost:  # what is installed is kept as it was meanwhile
        edit = b'{"data":{"value":"edited"}}'
        await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "settings", edit, field_manager="somebody")

        async def look() -> bool:
            return await value(tenant) == "one"

        await eventually(look, what="drift is reverted")

    await deploy(tenant, items, config=config(["login/password"], value="two"))
    await upgraded(tenant, 2)
    assert await password(tenant) != made
    assert await value(tenant) == "two"


async def test_going_back_past_an_accepted_password_is_refused_until_it_is_listed_again(
    tenant: Tenant, operator: Operator
) -> None:
    """Listed, the former one comes back; the database has to be given it, too (docs/helm-charts.md)."""
    assert operator.is_running
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items, config=config(value="one"))
    await tenant.ready()
    former = await password(tenant)
    await deploy(tenant, items, config=config(["login/password"], value="two"))
    first = (await upgraded(tenant, 2))["status"]["history"][1]
    accepted = await password(tenant)
    recorded = orjson.loads(first["options"]["valuesJSON"])
    assert recorded == config(value="one")
    await deploy(tenant, items, config=recorded)
    await refused(tenant, PASTE)
    assert (await password(tenant), await value(tenant)) == (accepted, "two")
    await deploy(tenant, items, config={**recorded, "acceptNewSecrets": ["login/password"]})
    await upgraded(tenant, 3)
    assert await password(tenant) == former


async def test_a_value_that_the_user_says_is_not_generated(tenant: Tenant, operator: Operator) -> None:
    """The value may be the present password; parts that are not random may change."""
    assert operator.is_running
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items)
    await tenant.ready()
    made = await password(tenant)
    await deploy(tenant, items, config=config(password=made, user="root"))
    await upgraded(tenant, 2)
    await deploy(tenant, items, config=config(password="another", user="root"))
    await upgraded(tenant, 3)
    assert await password(tenant) == "another"


async def test_a_list_of_accepted_secrets_is_no_other_installation(tenant: Tenant, operator: Operator) -> None:
    assert operator.is_running
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items)
    before = (await tenant.ready())["status"]["history"]
    made = await password(tenant)
    await deploy(tenant, items, config={"acceptNewSecrets": ["login/password"]})
    assert (await tenant.ready())["status"]["history"] == before
    assert await password(tenant) == made


async def test_certificates_are_told_and_not_refused(tenant: Tenant, operator: Operator) -> None:
    assert operator.is_running
    items = await publish(tenant, AUTHORITY)
    await deploy(tenant, items)
    await tenant.ready()
    made = await password(tenant)
    await deploy(tenant, items, config=config(value="two"))
    await upgraded(tenant, 2)
    assert await password(tenant) != made

    async def told() -> list[Document]:
        found = await listed(tenant.admin, EVENTS)
        return [
            one for one in found if one["reason"] == "CertificatesRenewed" and one["regarding"]["name"] == tenant.name
        ]

    (event,) = await eventually(told, what="an Event tells it")
    assert f"Secret {tenant.namespace}/login, key password" in event["note"]
    assert "BEGIN" not in event["note"]


async def test_a_list_that_is_none_is_refused_by_name(tenant: Tenant, operator: Operator) -> None:
    assert operator.is_running
    await deploy(tenant, await publish(tenant, RANDOM), config={"acceptNewSecrets": ["login"]})
    await tenant.until(
        lambda seen: (
            "spec.config.acceptNewSecrets[0] must be SECRET/KEY" in condition(seen, "HasValidBundle").get("message", "")
        ),
        what="the key is named",
    )


async def test_a_password_that_is_taken_over_stays_until_it_is_listed(tenant: Tenant, operator: Operator) -> None:
    """A release of helm of a chart without `lookup`, too, would have lost it at its next upgrade."""
    assert operator.is_running
    body = orjson.dumps({"metadata": {"name": "login"}, "stringData": {"password": "of-the-database"}})
    await tenant.admin.create(SECRETS, tenant.namespace, body, field_manager="somebody")
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items, adopt="IfUnowned")
    text = REFUSED.format(namespace=tenant.namespace)
    await tenant.until(lambda seen: text in condition(seen, "Installed").get("message", ""), what="it is refused")
    assert await password(tenant) == "of-the-database"
    await deploy(tenant, items, adopt="IfUnowned", config=config(["login/password"]))
    await tenant.ready()
    assert await password(tenant) != "of-the-database"


async def test_the_same_content_from_another_bundle_renews_nothing_either(tenant: Tenant, operator: Operator) -> None:
    """Any change of the template mends a lost rendering. It is rendered anew, and is no upgrade."""
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items)
    await tenant.ready()
    made = await password(tenant)
    await operator.stop()
    shutil.rmtree(operator.store)
    edit = b'{"data":{"value":"edited"}}'
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "settings", edit, field_manager="somebody")
    await operator.start()
    found = (await tenant.deployment())["spec"]["template"]
    template = {**found, "metadata": {"labels": {"changed": "yes"}}}
    await deploy(tenant, items, template=template)
    text = REFUSED.format(namespace=tenant.namespace)
    await tenant.until(lambda seen: text in condition(seen, "Installed").get("message", ""), what="it is refused")
    assert await password(tenant) == made
    await deploy(tenant, items, template=template, config={"acceptNewSecrets": ["login/password"]})
    await tenant.ready()
    assert await password(tenant) != made


async def test_content_that_is_gone_holds_no_upgrade(tenant: Tenant, operator: Operator) -> None:
    """The installed content cannot be rendered with lost storage; the wanted content is compared with itself."""
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items)
    await tenant.ready()
    made = await password(tenant)
    await operator.stop()
    shutil.rmtree(operator.store)
    for item in items:
        await tenant.admin.delete(CONFIG_MAPS, tenant.system, item["configMap"]["name"])
    await operator.start()
    newer = await publish(tenant, RANDOM.replace('"one"', '"newer"'), name="newer")
    await deploy(tenant, newer)
    await refused(tenant, PASTE)
    assert await password(tenant) == made
    await deploy(tenant, newer, config=config(["login/password"]))
    await upgraded(tenant, 2)
    assert await value(tenant) == "newer"


async def test_half_an_upgrade_renews_no_password_that_it_has_made(tenant: Tenant, operator: Operator) -> None:
    """The Secret is new in it, and its database may run; then the storage is lost."""
    await deploy(tenant, await publish(tenant, SETTINGS))
    await tenant.ready()
    failing = config_map_template("after", **{"helm.sh/hook": "post-upgrade", "helm.sh/hook-delete-policy": "x"})
    body = orjson.dumps({"metadata": {"name": "after"}})
    await tenant.admin.create(CONFIG_MAPS, tenant.namespace, body, field_manager="somebody")  # the hook cannot be made
    await deploy(tenant, await publish(tenant, f"{RANDOM}---\n{failing}", name="half"))

    async def is_made() -> bool:
        return bool(await found_secret(tenant))

    await eventually(is_made, what="the Secret of half an upgrade is there")
    made = await password(tenant)
    await operator.stop()
    shutil.rmtree(operator.store)
    await operator.start()
    text = REFUSED.format(namespace=tenant.namespace)
    await tenant.until(lambda seen: text in condition(seen, "Installed").get("message", ""), what="it is refused")
    assert await password(tenant) == made


async def found_secret(tenant: Tenant) -> list[Document]:
    return [one for one in await listed(tenant.admin, SECRETS, tenant.namespace) if one["metadata"]["name"] == "login"]
