"""The webhook for updates of CRDs behind a real API server: which requests come by it, and what stops no update."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.credentials import WEBHOOK_CLIENT
from rukpak_py.api.names import CRD_WEBHOOK, OWNER_KIND_LABEL, ca_field_manager, field_manager
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.errors import KindNotServedError
from rukpak_py.kube.resources import CRDS, Resource
from rukpak_py.server.admission import ReviewClients
from tests.integration.api.test_webhook_on_a_real_server import Webhook, serving
from tests.integration.tenancy.accounts import create_account, grant_everywhere, revoke_everywhere, rule
from tests.manifests import crd, thing
from tests.waiting import eventually

Document = dict[str, Any]

TEXT = {"type": "string"}
REFUSED = f'admission webhook "{CRD_WEBHOOK}" denied the request: failed to validate safety of UPDATE for CRD'
UNCHECKED = "was updated without a check of its stored objects"


@dataclass(kw_only=True)
class Kind:
    """A CRD with our label and an object in it."""

    client: Client
    group: str

    @property
    def name(self) -> str:
        return f"things.{self.group}"

    def definition(self, *required: str, properties: Document | None = None, **spec: Any) -> Document:
        fields = {"v": {"type": "integer"}, "color": TEXT} | (properties or {})
        schema = {"type": "object", "properties": fields, **({"required": list(required)} if required else {}), **spec}
        made = crd(self.group, scope="Cluster", schema={"type": "object", "properties": {"spec": schema}})
        made["metadata"]["labels"] = {OWNER_KIND_LABEL: "BundleDeployment"}
        return made

    async def create(self, properties: Document | None = None) -> None:
        await self.client.create(CRDS, "", json.dumps(self.definition(properties=properties)).encode())
        things = Resource(gvk=GroupVersionKind(self.group, "v1", "Thing"), plural="things", namespaced=False)

        async def is_stored() -> bool:
            try:
                await self.client.create(things, "", json.dumps(thing(self.group, "one")).encode())
            except KindNotServedError:
                return False
            return True

        await eventually(is_stored, what="the kind is served")

    def patch(self, *required: str, **how: Any) -> str:
        return json.dumps({"spec": {"versions": self.definition(*required, **how)["spec"]["versions"]}})


@asynccontextmanager
async def a_kind(client: Client, properties: Document | None = None) -> AsyncIterator[Kind]:
    kind = Kind(client=client, group=f"k{uuid.uuid4().hex[:9]}.example.com")
    await kind.create(properties)
    yield kind
    await client.delete(CRDS, "", kind.name)


async def patched(webhook: Webhook, kind: Kind, *required: str, **how: Any) -> tuple[int, str]:
    patch = kind.patch(*required, **how)
    return await webhook.kubectl("patch", "crd", kind.name, "--type=merge", f"--patch={patch}")


async def test_updates_pass_while_no_operator_runs(plane: ControlPlane) -> None:
    async with serving(plane) as webhook, a_kind(webhook.client) as kind:
        code, output = await patched(webhook, kind, "color")
        assert (code, REFUSED in output) == (1, True)
        await webhook.server.stop()
        code, output = await patched(webhook, kind, "color")
        assert (code, output) == (0, f"customresourcedefinition.apiextensions.k8s.io/{kind.name} patched")


async def test_update_passes_at_the_deadline_and_kubectl_says_so(plane: ControlPlane) -> None:
    async with serving(plane, crd_seconds=0.0) as webhook, a_kind(webhook.client) as kind:
        code, output = await patched(webhook, kind, "color")
        warning = f'Warning: CRD "{kind.name}" {UNCHECKED}: this took more than 0 s'
        assert (code, output.splitlines()[0]) == (0, warning)


async def test_objects_that_the_operator_may_not_list_are_named_as_not_checked(plane: ControlPlane) -> None:
    async with Client(await load_connection(plane.kubeconfig)) as admin:
        account = await create_account(admin, "default", f"reader-{uuid.uuid4().hex[:9]}", rules=())
        may_read = rule("customresourcedefinitions", verbs=("get",), group="apiextensions.k8s.io")
        await grant_everywhere(admin, account, (may_read,))
        async with serving(plane, crds_as=account) as webhook, a_kind(webhook.client) as kind:
            code, output = await patched(webhook, kind, "color")
            assert code == 0
            warning = f'Warning: CRD "{kind.name}" {UNCHECKED}: its objects could not be listed'
            assert output.startswith(warning)
            assert "cannot list" in output
        await revoke_everywhere(admin, account)


async def by_put(client: Client, kind: Kind) -> None:
    live = json.loads(await client.get(CRDS, "", kind.name))
    new = live | {"spec": live["spec"] | json.loads(kind.patch("color"))["spec"]}
    await client.replace(CRDS, "", kind.name, json.dumps(new).encode())


async def by_apply(client: Client, kind: Kind, manager: str = "user") -> None:
    body = json.dumps(kind.definition("color")).encode()
    await client.apply(CRDS, "", kind.name, body, field_manager=manager, force=True)


async def by_json_patch(client: Client, kind: Kind) -> None:
    schema = kind.definition("color")["spec"]["versions"][0]["schema"]
    patch = [{"op": "replace", "path": "/spec/versions/0/schema", "value": schema}]
    await client.patch(CRDS, "", kind.name, json.dumps(patch).encode(), content_type="application/json-patch+json")


@pytest.mark.parametrize("write", [by_put, by_apply, by_json_patch])
async def test_every_kind_of_write_is_judged(plane: ControlPlane, write: Callable[..., Any]) -> None:
    async with serving(plane) as webhook, a_kind(webhook.client) as kind:
        with pytest.raises(Exception, match=REFUSED):
            await write(webhook.client, kind)


@pytest.mark.parametrize("manager", [field_manager("shop"), ca_field_manager("shop")])
async def test_writes_of_the_operator_are_not_judged_again(plane: ControlPlane, manager: str) -> None:
    async with serving(plane) as webhook, a_kind(webhook.client) as kind:
        await by_apply(webhook.client, kind, manager)


async def test_large_crd_is_judged(plane: ControlPlane) -> None:
    """More than a MiB: a match condition that cost too much for it would let it pass."""
    many = {f"field{number}": TEXT | {"description": "d" * 150} for number in range(6000)}
    async with serving(plane) as webhook, a_kind(webhook.client, many) as kind:
        body = kind.patch("color", properties=many).encode()
        assert len(body) > 1 << 20
        with pytest.raises(Exception, match=REFUSED):
            await webhook.client.patch(CRDS, "", kind.name, body)


async def test_rules_of_values_are_judged_once_only_the_api_server_is_answered(plane: ControlPlane) -> None:
    choices = {"oneOf": [{"properties": {"v": {"enum": [2]}}}]}
    async with serving(plane) as webhook, a_kind(webhook.client) as kind:
        code, output = await patched(webhook, kind, **choices)
        assert (code, output.splitlines()[0]) == (0, "Warning: v1: spec: oneOf was changed; not checked")
    async with (
        serving(plane, ReviewClients(names=frozenset({WEBHOOK_CLIENT.name}))) as webhook,
        a_kind(webhook.client) as kind,
    ):
        code, output = await patched(webhook, kind, **choices)
        assert (code, "must fit one and only one schema of oneOf" in output) == (1, True)
        code, output = await patched(webhook, kind, properties={"v": {"type": "integer", "maximum": 0}})
        warning = "Warning: spec.v: Invalid value: must be at most 0 (version v1, 1 object: one)"
        assert (code, output.splitlines()[0]) == (0, warning)
