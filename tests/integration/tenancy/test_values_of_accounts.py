"""Values of a chart whose deployment has an account: in its namespace, with its rights, and never more than those."""

import asyncio
from collections import Counter
from typing import Any

import orjson
import pytest

from rukpak_py.api.accounts import Account
from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.controllers.values_objects import AccountValuesObjects
from rukpak_py.core.errors import AccessError
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS
from rukpak_py.kube.secrets import OwnSecrets
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.integration.tenancy.accounts import create_account, grant, rule
from tests.manifests import Document
from tests.waiting import eventually

TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {order: {{ .Values.order }}}
"""
VALUES_FROM = [{"kind": "Secret", "name": "login"}]
INSTALLS = rule("configmaps")
READS_LOGIN = rule("secrets", verbs=("get", "list", "watch"), names=("login",))
GETS_LOGIN = rule("secrets", verbs=("get",), names=("login",))


@pytest.fixture
async def operator(tenant: Tenant, operators: StartOperator, helm: HelmProgram) -> Operator:
    await tenant.settled()
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def put_values(admin: Client, namespace: str, order: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}
    body |= {"stringData": {"values.yaml": f"order: {order}\n"}}
    await admin.apply(SECRETS, namespace, "login", orjson.dumps(body), field_manager="user", force=True)


async def install(tenant: Tenant, items: list[Document], *, account: str = "") -> None:
    named: dict[str, Any] = {"serviceAccountName": account} if account else {}
    await deploy(tenant, items, config={"valuesFrom": VALUES_FROM}, **named)


async def until_order(tenant: Tenant, order: str, *, revision: int) -> None:
    def is_installed(seen: Document) -> bool:
        return is_ready(seen) and seen["status"]["history"][0]["revision"] == revision

    await tenant.until(is_installed, what=f"revision {revision} is Ready")
    found = await tenant.read(CONFIG_MAPS, tenant.namespace, "settings")
    assert found["data"] == {"order": order}


async def test_values_are_those_of_the_accounts_namespace_and_a_change_is_an_upgrade(
    tenant: Tenant, operator: Operator
) -> None:
    await create_account(tenant.admin, tenant.namespace, rules=(INSTALLS, READS_LOGIN))
    await put_values(tenant.admin, tenant.system, "of-the-operator")
    await put_values(tenant.admin, tenant.namespace, "first")
    await install(tenant, await publish(tenant, TEMPLATE), account="installer")
    await until_order(tenant, "first", revision=1)
    (entry,) = (await tenant.deployment())["status"]["history"]
    assert [one["namespace"] for one in entry["options"]["valuesFrom"]] == [tenant.namespace]

    await put_values(tenant.admin, tenant.namespace, "second")
    await until_order(tenant, "second", revision=2)
    assert operator.is_running


async def test_naming_an_account_moves_the_values_which_is_an_upgrade(tenant: Tenant, operator: Operator) -> None:
    await create_account(tenant.admin, tenant.namespace, rules=(INSTALLS, READS_LOGIN))
    await put_values(tenant.admin, tenant.system, "of-the-operator")
    await put_values(tenant.admin, tenant.namespace, "of-the-tenant")
    items = await publish(tenant, TEMPLATE)
    await install(tenant, items)
    await until_order(tenant, "of-the-operator", revision=1)

    await install(tenant, items, account="installer")
    await until_order(tenant, "of-the-tenant", revision=2)
    assert operator.is_running


async def test_a_missing_right_is_named_and_what_is_installed_stays_until_it_is_given(
    tenant: Tenant, operator: Operator
) -> None:
    account = await create_account(tenant.admin, tenant.namespace, rules=(INSTALLS,))
    await put_values(tenant.admin, tenant.system, "of-the-operator")
    await put_values(tenant.admin, tenant.namespace, "of-the-tenant")
    items = await publish(tenant, TEMPLATE)
    await install(tenant, items)
    await until_order(tenant, "of-the-operator", revision=1)

    await install(tenant, items, account="installer")
    denied = await tenant.until(
        lambda seen: condition(seen, "Ready")["reason"] == "AccessDenied", what="the missing right is named"
    )
    text = condition(denied, "HasValidBundle")["message"]
    assert f"as service account {account}: get Secret {tenant.namespace}/login" in text
    assert 'cannot get resource \\"secrets\\"' in text or 'cannot get resource "secrets"' in text
    assert "needs get, list and watch on this Secret" in text
    settings = await tenant.read(CONFIG_MAPS, tenant.namespace, "settings")
    assert settings["data"] == {"order": "of-the-operator"}

    await grant(tenant.admin, account, (INSTALLS, READS_LOGIN))
    await tenant.until(lambda seen: len(seen["status"]["history"]) == 2, what="an upgrade", seconds=120.0)
    await until_order(tenant, "of-the-tenant", revision=2)
    assert operator.is_running


async def test_a_secret_of_the_operator_is_refused_in_the_namespace_of_an_account_too(
    tenant: Tenant, operator: Operator
) -> None:
    rules = (INSTALLS, rule("secrets", verbs=("get", "list", "watch")))
    await create_account(tenant.admin, tenant.namespace, rules=rules)
    await OwnSecrets(tenant.admin, tenant.namespace).create("login", {"values.yaml": b"order: c4nary"})
    await install(tenant, await publish(tenant, TEMPLATE), account="installer")
    found = await tenant.until(
        lambda seen: condition(seen, "Ready").get("reason") == "ContentError", what="the Secret is refused"
    )
    text = "Secret login holds keys or certificates of the operator, so nothing may refer to it"
    assert text in condition(found, "HasValidBundle")["message"]
    assert "c4nary" not in orjson.dumps(found).decode() + operator.log
    assert not await tenant.owned()


class Reader:
    """Reads `login` as an account. `changes`: how often it was told that there may be other values."""

    def __init__(self, admin: Client, account: Account, *, poll_seconds: float) -> None:
        self._account = account
        self._client = admin.acting_as(account.user)
        self.changes: Counter[ValuesObject] = Counter()
        self.objects = AccountValuesObjects(on_change=self._changed, poll_seconds=poll_seconds)
        self.login = ValuesObject("Secret", "login", account)

    def _changed(self, one: ValuesObject) -> None:
        self.changes[one] += 1

    async def order(self) -> str | None:
        data = await self.objects.read(self.login, self._account, self._client)
        return data["values.yaml"].decode().strip() if data is not None else None

    async def until_told(self, times: int) -> None:
        async def look() -> bool:
            return self.changes[self.login] >= times

        await eventually(look, what=f"{times} changes were told")


async def test_where_the_account_may_not_watch_a_change_is_noticed_by_reading_again(
    admin: Client, namespace_there: str
) -> None:
    account = await create_account(admin, namespace_there, rules=(GETS_LOGIN,))
    await put_values(admin, namespace_there, "first")
    reader = Reader(admin, account, poll_seconds=0.3)
    assert await reader.order() == "order: first"
    await put_values(admin, namespace_there, "second")
    await reader.until_told(1)
    assert await reader.order() == "order: second"
    told = reader.changes[reader.login]
    await asyncio.sleep(1.0)  # three reads of what stays as it is
    assert reader.changes[reader.login] == told

    await grant(admin, account, ())
    await reader.until_told(told + 1)
    with pytest.raises(AccessError, match=f"as service account {account}: get Secret {namespace_there}/login"):
        await reader.order()
    await reader.objects.close()


async def test_rights_on_one_name_are_enough_to_watch_it_and_to_compare_versions(
    admin: Client, namespace_there: str
) -> None:
    account = await create_account(admin, namespace_there, rules=(READS_LOGIN,))
    await put_values(admin, namespace_there, "first")
    reader = Reader(admin, account, poll_seconds=600.0)
    assert await reader.order() == "order: first"
    await put_values(admin, namespace_there, "second")
    await reader.until_told(1)
    assert await reader.order() == "order: second"
    await admin.delete(SECRETS, namespace_there, "login")
    await reader.until_told(2)
    assert await reader.order() is None
    await reader.objects.close()

    client = admin.acting_as(account.user)
    version = await client.current_version(SECRETS, namespace_there, field_selector="metadata.name=login")
    assert int(version) > 0


async def test_one_watch_serves_all_that_refer_to_an_object_and_ends_with_the_last_of_them(
    admin: Client, namespace_there: str
) -> None:
    account = await create_account(admin, namespace_there, rules=(READS_LOGIN,))
    await put_values(admin, namespace_there, "first")
    reader = Reader(admin, account, poll_seconds=600.0)
    assert await asyncio.gather(*(reader.order() for _ in range(3))) == ["order: first"] * 3
    reader.objects.retain({reader.login})
    await put_values(admin, namespace_there, "second")
    await reader.until_told(1)
    reader.objects.retain(frozenset())
    await put_values(admin, namespace_there, "third")
    await asyncio.sleep(0.5)
    assert reader.changes[reader.login] == 1
    await reader.objects.close()
