"""The webhook server behind a real API server: certificates, reachability, and what users read through kubectl."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.credentials import WEBHOOK_CLIENT
from e2e.cluster.ports import free_ports
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import API_VERSION, BUNDLE_WEBHOOK_PATH, GROUP, VERSION, WEBHOOK_CONFIGURATION, SecretName
from rukpak_py.api.reading import read_bundle
from rukpak_py.certificates.own_certificate import CertificateKeeper, KeeperSettings
from rukpak_py.certificates.own_webhooks import OurWebhooks, own_certificate
from rukpak_py.core import x509
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.errors import ApiError, ForbiddenError, NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, Resource
from rukpak_py.kube.secrets import OwnSecrets
from rukpak_py.server.admission import Admission, ReviewClients, webhook_app, webhook_port
from rukpak_py.server.crd_admission import CrdUpdates
from rukpak_py.server.listener import Address, Listener
from rukpak_py.server.server_tls import ServerTls
from tests.hostile.client import review_of
from tests.integration.conftest import a_namespace
from tests.integration.listing import listed
from tests.integration.server.traffic import Traffic, until_unguarded
from tests.manifests import source
from tests.waiting import eventually

Document = dict[str, Any]

HANDSHAKES = 60  # three seconds of requests, after each change: the API server hears of it within one
BUNDLES = Resource(gvk=GroupVersionKind(GROUP, VERSION, "Bundle"), plural="bundles", namespaced=False)
CONFIGURATIONS = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
DENIED = 'admission webhook "vbundles.core.rukpak.io" denied the request: '


@dataclass(kw_only=True)
class ClusterPorts:
    """The ports of the server, on a real cluster."""

    client: Client
    system: str

    async def immutable(self, name: str) -> bool | None:
        try:
            config_map = json.loads(await self.client.get(CONFIG_MAPS, self.system, name))
        except NotFoundError:
            return None
        return config_map.get("immutable") is True

    async def using(self, config_map: str) -> Sequence[str]:
        bundles = [read_bundle(one) for one in await listed(self.client, BUNDLES)]
        return sorted(
            bundle.metadata.name
            for bundle in bundles
            if config_map in {item.config_map.name for item in bundle.spec.source.config_maps}
        )


@dataclass(kw_only=True)
class Webhook:
    client: Client
    system: str  # the system namespace
    kubeconfig: Path
    server: Listener
    keeper: CertificateKeeper
    let_pass: Callable[[float], None]  # seconds, by the keeper's clock

    async def kubectl(self, *arguments: str) -> tuple[int, str]:
        """Exit code and what a user reads. Never blocks the loop: the webhook answers on it."""
        process = await asyncio.create_subprocess_exec(
            str(binaries.path("kubectl")),
            f"--kubeconfig={self.kubeconfig}",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode().strip()

    async def served(self) -> bytes:
        """The certificate that a new connection gets."""
        pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", self.server.port))
        return pem.encode()

    async def until_it_is_called(self) -> None:
        """A changed configuration reaches the API server's own cache in its own time."""
        spec = config_map_spec("probe")

        async def is_called() -> bool:
            try:
                await self.client.create(BUNDLES, "", bundle("probe", spec), dry_run=True)
            except ForbiddenError:
                return True
            except ApiError:
                pass  # not verified yet: the new authority is still on its way
            return False

        await eventually(is_called, what="the webhook is called")


@asynccontextmanager
async def serving(
    plane: ControlPlane,
    clients: ReviewClients | None = None,
    *,
    crds_as: Account | None = None,
    crd_seconds: float = 8.0,
) -> AsyncIterator[Webhook]:
    """`crds_as`: the identity that reads stored objects, in place of the administrator's."""
    async with Client(await load_connection(plane.kubeconfig)) as client, a_namespace(client, stays=True) as system:
        await client.create(CONFIG_MAPS, system, config_map("probe", immutable=False))
        ports = ClusterPorts(client=client, system=system)
        admission = Admission(system_namespace=system, config_maps=ports, bundles=ports)
        passed: list[float] = [0.0]
        port = free_ports(["webhook"], "127.0.0.1")["webhook"]
        webhooks = OurWebhooks(system_namespace=system, url=f"https://127.0.0.1:{port}")
        keeper = CertificateKeeper(
            own_certificate(system, "https://127.0.0.1"),
            client=client,
            webhooks=webhooks,
            elapsed=lambda: sum(passed),
        )
        reader = client.acting_as(crds_as.user) if crds_as is not None else client
        crds = CrdUpdates(reader, reads_values=clients is not None, seconds=crd_seconds)
        app = webhook_app(admission, DEFAULT_LIMITS, clients, crds=crds.judge)
        app.on_response_prepare.append(end_connection)
        authority = (plane.state.pki / "ca.crt").read_bytes() if clients is not None else b""
        tls = ServerTls(lambda: keeper.pair, partial(returned, authority))
        address = Address(host="127.0.0.1", port=port)
        server = Listener(app, address, webhook_port(DEFAULT_LIMITS, clients), tls=tls.context)
        webhook = Webhook(
            client=client,
            system=system,
            kubeconfig=plane.kubeconfig,
            server=server,
            keeper=keeper,
            let_pass=passed.append,
        )
        await server.start()
        try:
            await keeper.keep(leading=True)
            await webhook.until_it_is_called()
            yield webhook
        finally:
            await server.stop()
            await client.delete(CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)
            await until_unguarded(client)


async def returned(content: bytes) -> bytes:
    return content


async def end_connection(_: web.Request, response: web.StreamResponse) -> None:
    """The API server begins each request with a handshake, so that it sees which certificate is served."""
    response.headers["Connection"] = "close"
    response.force_close()


def bundle(name: str, spec: Document) -> bytes:
    return json.dumps({"apiVersion": API_VERSION, "kind": "Bundle", "metadata": {"name": name}, "spec": spec}).encode()


def config_map_spec(name: str) -> Document:
    return {"provisionerClassName": "nobody", "source": source(name)}


def config_map(name: str, *, immutable: bool) -> bytes:
    return json.dumps({"metadata": {"name": name}, "immutable": immutable, "data": {"a": "b"}}).encode()


async def test_a_changed_bundle_is_refused_in_the_words_that_documents_quote(
    plane: ControlPlane,
) -> None:
    async with serving(plane) as webhook:
        git = {"repository": "https://example.com/a", "ref": {"tag": "v1"}}
        spec = {"provisionerClassName": "nobody", "source": {"type": "git", "git": git}}
        await webhook.client.create(BUNDLES, "", bundle("b", spec))

        code, output = await webhook.kubectl(
            "patch", "bundle", "b", "--type=merge", '--patch={"spec":{"source":{"git":{"directory":"x"}}}}'
        )
        # Before it a warning about the class may stand, where the policy for that is installed.
        assert (code, output.splitlines()[-1]) == (
            1,
            f"Error from server (bundle.spec is immutable): {DENIED}bundle.spec is immutable",
        )

        with pytest.raises(ForbiddenError) as refused:
            await webhook.client.patch(BUNDLES, "", "b", b'{"spec":{"provisionerClassName":"other"}}')
        assert (refused.value.status, refused.value.reason) == (403, "bundle.spec is immutable")
        assert refused.value.message == f"{DENIED}bundle.spec is immutable"
        assert [cause.message for cause in refused.value.causes] == ["bundle.spec is immutable"]
        with pytest.raises(ForbiddenError) as not_permitted:
            await webhook.client.acting_as("nobody").create(BUNDLES, "", bundle("c", spec))
        assert not_permitted.value.causes == (), "of a missing permission"

        same = b'{"spec":{"source":{"git":{"auth":{"secret":{}}}}}}'
        await webhook.client.patch(BUNDLES, "", "b", same)
        await webhook.client.delete(BUNDLES, "", "b")


async def test_the_api_server_shows_its_certificate_and_others_learn_nothing(plane: ControlPlane) -> None:
    async with serving(plane, ReviewClients(names=frozenset({WEBHOOK_CLIENT.name}))) as webhook:
        with pytest.raises(ForbiddenError):  # the answer of the webhook, so the API server may ask
            await webhook.client.create(BUNDLES, "", bundle("b", config_map_spec("probe")))
        context = ssl.create_default_context(cadata=(await webhook.served()).decode())
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        url = f"https://127.0.0.1:{webhook.server.port}{BUNDLE_WEBHOOK_PATH}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, json=review_of([{"configMap": {"name": "probe"}}]), ssl=context) as answer,
        ):
            assert (answer.status, "probe" in await answer.text()) == (401, False)


async def test_without_the_operator_only_specs_of_bundles_are_closed(plane: ControlPlane) -> None:
    async with serving(plane) as webhook:
        spec = {"provisionerClassName": "nobody", "source": {"type": "upload", "upload": {}}}
        await webhook.client.create(BUNDLES, "", bundle("b", spec))
        await webhook.server.stop()

        await webhook.client.patch(BUNDLES, "", "b", b'{"metadata":{"labels":{"a":"b"},"finalizers":["x.test/y"]}}')
        await webhook.client.patch(BUNDLES, "", "b", b'{"metadata":{"finalizers":null}}')
        await webhook.client.patch_status(BUNDLES, "", "b", b'{"status":{"phase":"Pending"}}')
        await webhook.client.create(CONFIG_MAPS, webhook.system, config_map("free", immutable=False))

        code, output = await webhook.kubectl(
            "patch", "bundle", "b", "--type=merge", '--patch={"spec":{"provisionerClassName":"other"}}'
        )
        assert code == 1
        assert 'failed calling webhook "vbundles.core.rukpak.io"' in output
        await webhook.client.delete(BUNDLES, "", "b")


async def test_config_maps_of_bundles_are_immutable_and_stay(plane: ControlPlane) -> None:
    async with serving(plane) as webhook:
        client = webhook.client
        await client.create(BUNDLES, "", bundle("b1", config_map_spec("content")))

        with pytest.raises(ForbiddenError) as refused:
            await client.create(CONFIG_MAPS, webhook.system, config_map("content", immutable=False))
        assert refused.value.message == (
            'admission webhook "vconfigmaps.core.rukpak.io" denied the request: configmap "content" is referenced in'
            " .spec.source.configMaps[].configMap.name by bundles [b1]; referenced configmaps must have"
            " .immutable == true; set immutable: true on it"
        )
        async with a_namespace(client) as other:
            await client.create(CONFIG_MAPS, other, config_map("content", immutable=False))
        await client.create(CONFIG_MAPS, webhook.system, config_map("content", immutable=True))

        code, output = await webhook.kubectl("delete", "configmap", "content", f"--namespace={webhook.system}")
        text = 'configmap "content" is in-use by bundle "b1"'
        denied = f'admission webhook "vconfigmaps.core.rukpak.io" denied the request: {text}'
        assert (code, output) == (1, f"Error from server ({text}): {denied}")

        await client.delete(BUNDLES, "", "b1")
        await client.delete(CONFIG_MAPS, webhook.system, "content")


async def test_a_new_authority_takes_over_without_a_gap(plane: ControlPlane) -> None:
    async with serving(plane) as webhook:
        secrets = OwnSecrets(webhook.client, webhook.system)
        first = await secrets.read(SecretName.SERVING)
        await webhook.client.delete(SECRETS, webhook.system, SecretName.SIGNER)  # as good as expired

        await webhook.keeper.keep(leading=True)
        trusted = await secrets.read(SecretName.CA)
        assert trusted is not None
        assert first is not None
        newest, former = x509.split(trusted.secret_data()["ca.crt"])
        assert x509.is_signed_by(first.secret_data()["tls.crt"], former)
        assert x509.is_signed_by(await webhook.served(), former)
        await webhook.until_it_is_called()

        await webhook.keeper.keep(leading=True)
        assert x509.is_signed_by(await webhook.served(), former), "the API server may not have heard of the new one yet"
        webhook.let_pass(KeeperSettings().propagation)
        await webhook.keeper.keep(leading=True)
        assert x509.is_signed_by(await webhook.served(), newest)
        await webhook.until_it_is_called()
        configuration = json.loads(await webhook.client.get(CONFIGURATIONS, "", WEBHOOK_CONFIGURATION))
        bundles = {one["clientConfig"]["caBundle"] for one in configuration["webhooks"]}
        assert bundles == {base64.b64encode(trusted.secret_data()["ca.crt"]).decode()}


async def test_no_request_is_refused_while_every_secret_is_lost_and_made_again(
    plane: ControlPlane,
) -> None:
    async with serving(plane) as webhook:
        client, keeper, traffic = webhook.client, webhook.keeper, Traffic(webhook.client)
        former = await webhook.served()
        async with traffic.running():
            for name in SecretName:
                await client.delete(SECRETS, webhook.system, name)
            await keeper.keep(leading=True)
            assert await webhook.served() == former, "new replicas and this one serve what is trusted everywhere"
            await traffic.passed(HANDSHAKES)
            webhook.let_pass(KeeperSettings().propagation)
            await keeper.keep(leading=True)
            assert await webhook.served() != former
            await traffic.passed(HANDSHAKES)
            trusted = await OwnSecrets(client, webhook.system).read(SecretName.CA)
            assert trusted is not None
            newest, _ = x509.split(trusted.secret_data()["ca.crt"])
            assert x509.is_signed_by(await webhook.served(), newest)
        assert not traffic.refused
