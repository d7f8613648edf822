"""Objects that an upgrade left in the cluster are taken again, without a word, when their content comes back."""

import shutil
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Any, Protocol

import orjson
import pytest

from rukpak_py.api.names import RELEASED_ANNOTATION
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS, SECRETS, Resource
from tests.integration.listing import listed
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map, crd
from tests.unit.charts import config_map as template
from tests.waiting import eventually

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: password, annotations: {helm.sh/resource-policy: keep}}
stringData: {password: "{{ .Values.password | default "from the chart" }}"}
"""
# As charts keep what they have generated.
LOOKED_UP = """
apiVersion: v1
kind: Secret
metadata: {name: password, annotations: {helm.sh/resource-policy: keep}}
data:
  {{- $found := lookup "v1" "Secret" .Release.Namespace "password" }}
  password: {{ dig "data" "password" (randAlphaNum 20 | b64enc) $found }}
"""
KEEP = {"core.rukpak.io/prune": "false"}
CLAIMS = Resource(
    gvk=GroupVersionKind("", "v1", "PersistentVolumeClaim"), plural="persistentvolumeclaims", namespaced=True
)
EVENTS = Resource(gvk=GroupVersionKind("events.k8s.io", "v1", "Event"), plural="events", namespaced=True)


class StartOperator(Protocol):
    def __call__(self, **given: Any) -> Operator: ...


class Between(Enum):
    """The fate of the operator while the objects are no part of the content."""

    NOTHING = auto()
    RESTART = auto()
    LOST_STORAGE = auto()


everything_between = pytest.mark.parametrize("between", list(Between), ids=lambda one: one.name.lower())


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram) -> Operator:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def happens(between: Between, operator: Operator) -> None:
    if between is Between.NOTHING:
        return
    await operator.stop()
    if between is Between.LOST_STORAGE:
        shutil.rmtree(operator.store)
    await operator.start()


async def uid(tenant: Tenant, resource: Resource, name: str) -> str:
    namespace = tenant.namespace if resource.namespaced else ""
    found: str = (await tenant.read(resource, namespace, name))["metadata"]["uid"]
    return found


async def until_released(tenant: Tenant, resource: Resource, name: str) -> Document:
    namespace = tenant.namespace if resource.namespaced else ""

    async def look() -> Document | None:
        found = await tenant.read(resource, namespace, name)
        return found if "core.rukpak.io/owner-name" not in found["metadata"].get("labels", {}) else None

    return await eventually(look, what=f"{name} is released")


async def is_ours(tenant: Tenant, resource: Resource, name: str) -> bool:
    namespace = tenant.namespace if resource.namespaced else ""
    metadata = (await tenant.read(resource, namespace, name))["metadata"]
    labelled = metadata.get("labels", {}).get("core.rukpak.io/owner-name") == tenant.name
    return labelled and RELEASED_ANNOTATION not in metadata["annotations"]


async def told(tenant: Tenant, *reasons: str) -> list[str]:
    found = await listed(tenant.admin, EVENTS)
    return [one["note"] for one in found if one["regarding"]["name"] == tenant.name and one["reason"] in reasons]


@everything_between
async def test_kept_objects_of_a_chart_are_taken_again(tenant: Tenant, operator: Operator, between: Between) -> None:
    definition = crd(f"{tenant.name}.example.com")
    names = ((SECRETS, "password"), (CRDS, definition["metadata"]["name"]))
    first = await publish(tenant, f"{template('settings')}---{SECRET}", crds=orjson.dumps(definition).decode())
    second = await publish(tenant, template("others"), name="second")
    await deploy(tenant, first)
    await tenant.ready()
    before = [await uid(tenant, *one) for one in names]

    await deploy(tenant, second)
    for one in names:
        await until_released(tenant, *one)
    await tenant.ready()
    await happens(between, operator)
    await deploy(tenant, first)
    await tenant.ready()
    assert [await uid(tenant, *one) for one in names] == before
    assert [await is_ours(tenant, *one) for one in names] == [True, True]
    assert not await told(tenant, "Conflict", "Adopted")

    await deploy(tenant, second)
    for one in names:
        await until_released(tenant, *one)
    await tenant.ready()
    await tenant.admin.delete(CRDS, "", definition["metadata"]["name"])


@everything_between
async def test_object_that_values_switch_off_and_on_is_taken_again(
    tenant: Tenant, operator: Operator, between: Between
) -> None:
    chart = await publish(tenant, f"{template('settings')}---\n{{{{- if .Values.secret }}}}{SECRET}{{{{ end }}}}")
    await deploy(tenant, chart, config={"values": {"secret": True}})
    await tenant.ready()
    before = await uid(tenant, SECRETS, "password")
    await deploy(tenant, chart, config={"values": {"secret": False}})
    await until_released(tenant, SECRETS, "password")
    await tenant.ready()
    await happens(between, operator)
    await deploy(tenant, chart, config={"values": {"secret": True, "password": "another"}})
    await tenant.ready()
    assert await uid(tenant, SECRETS, "password") == before
    assert (await tenant.read(SECRETS, tenant.namespace, "password"))["data"] == {"password": "YW5vdGhlcg=="}


@everything_between
async def test_secret_that_a_chart_looks_up_keeps_its_password(
    tenant: Tenant, operator: Operator, between: Between
) -> None:
    """The former rendering may be lost: the chart sees the Secret that it has left."""
    first = await publish(tenant, f"{template('settings')}---{LOOKED_UP}")
    second = await publish(tenant, template("others"), name="second")
    await deploy(tenant, first)
    await tenant.ready()
    before = await tenant.read(SECRETS, tenant.namespace, "password")
    await deploy(tenant, second)
    await until_released(tenant, SECRETS, "password")
    await tenant.ready()
    await happens(between, operator)
    await deploy(tenant, first)
    await tenant.ready()
    after = await tenant.read(SECRETS, tenant.namespace, "password")
    assert (after["metadata"]["uid"], after["data"]) == (before["metadata"]["uid"], before["data"])
    assert await is_ours(tenant, SECRETS, "password")


async def test_a_random_password_is_not_renewed_by_going_back(tenant: Tenant, operator: Operator) -> None:
    """The chart does not look it up, and what was rendered before is lost."""
    random = SECRET.replace('"from the chart"', "(randAlphaNum 20)")
    first = await publish(tenant, f"{template('settings')}---{random}")
    await deploy(tenant, first)
    await tenant.ready()
    before = await tenant.read(SECRETS, tenant.namespace, "password")
    await deploy(tenant, await publish(tenant, template("others"), name="second"))
    await until_released(tenant, SECRETS, "password")
    await tenant.ready()
    await happens(Between.LOST_STORAGE, operator)
    await deploy(tenant, first)
    await tenant.until(
        lambda found: "acceptNewSecrets" in condition(found, "Installed").get("message", ""), what="it is refused"
    )
    assert (await tenant.read(SECRETS, tenant.namespace, "password"))["data"] == before["data"]
    await deploy(tenant, first, config={"acceptNewSecrets": ["password/password"]})
    await tenant.ready()
    after = await tenant.read(SECRETS, tenant.namespace, "password")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["data"] != before["data"]


def claim(namespace: str) -> Document:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
    metadata = {"name": "data", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


@everything_between
async def test_kept_objects_of_plain_content_are_taken_again(
    tenant: Tenant, operator: Operator, between: Between
) -> None:
    """One object says itself that it is never pruned; the other is of a kind that is kept."""
    names = ((CONFIG_MAPS, "kept"), (CLAIMS, "data"))
    stays = config_map("stays", tenant.namespace)
    await tenant.publish(
        "first", [stays, config_map("kept", tenant.namespace, annotations=KEEP), claim(tenant.namespace)]
    )
    await tenant.publish("second", [stays, config_map("other", tenant.namespace)])
    prune = {"when": "AfterApply"}  # a claim that no volume is bound to is never healthy
    await tenant.deploy("first", prune=prune)
    await tenant.until(lambda found: condition(found, "Installed").get("status") == "True", what="installed")
    before = [await uid(tenant, *one) for one in names]
    await tenant.deploy("second", prune=prune)
    await until_released(tenant, CONFIG_MAPS, "kept")
    found = await tenant.ready()
    assert [one["name"] for one in found["status"]["kept"]] == ["data"]
    await happens(between, operator)
    await tenant.deploy("first", prune=prune)

    async def is_back() -> bool:
        return [await is_ours(tenant, *one) for one in names] == [True, True]

    await eventually(is_back, what="both are taken again")
    assert [await uid(tenant, *one) for one in names] == before
    assert not await told(tenant, "Conflict", "Adopted")


async def refused(tenant: Tenant, *texts: str) -> None:
    await tenant.until(
        lambda found: (
            condition(found, "Ready").get("reason") == "Conflict"
            and all(text in condition(found, "Installed")["message"] for text in texts)
        ),
        what="it is refused",
    )


async def gone_back(tenant: Tenant, change: Callable[[Document], Awaitable[None]]) -> None:
    """Go back to content with `kept`, which is changed while it is released."""
    stays, kept = config_map("stays", tenant.namespace), config_map("kept", tenant.namespace, annotations=KEEP)
    await tenant.publish("first", [stays, kept])
    await tenant.publish("second", [stays])
    await tenant.deploy("first")
    await tenant.ready()
    await tenant.deploy("second")
    released = await until_released(tenant, CONFIG_MAPS, "kept")
    await tenant.ready()
    await change(released)
    await tenant.deploy("first")


async def test_a_copy_under_the_same_name_is_not_taken(tenant: Tenant, operator: Operator) -> None:
    async def copied(released: Document) -> None:
        assert RELEASED_ANNOTATION in released["metadata"]["annotations"]
        await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "kept")
        metadata = {key: released["metadata"][key] for key in ("name", "namespace", "annotations")}
        body = orjson.dumps({**released, "metadata": metadata})
        await tenant.admin.create(CONFIG_MAPS, tenant.namespace, body, field_manager="somebody")

    await gone_back(tenant, copied)
    await refused(tenant, "ConfigMap", "kept exists and is not managed by anyone")


async def test_object_that_another_tool_has_taken_is_not_taken_back(tenant: Tenant, operator: Operator) -> None:
    async def taken(_: Document) -> None:
        patch = b'{"metadata":{"annotations":{"meta.helm.sh/release-name":"shop"}}}'
        await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "kept", patch, field_manager="helm")

    await gone_back(tenant, taken)
    await refused(tenant, "kept is managed by Helm")


async def test_another_deployment_of_the_same_name_does_not_take_it(tenant: Tenant, operator: Operator) -> None:
    async def made_anew(_: Document) -> None:
        await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
        await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)

    await gone_back(tenant, made_anew)
    await refused(tenant, "kept exists and is not managed by anyone")
