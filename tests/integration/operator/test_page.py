"""The page on the content server of an operator, over 300 deployments: what it costs, and what its viewers may see."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.kubectl import Kubectl
from rukpak_py.api.names import API_VERSION
from rukpak_py.kube.client import Client
from tests.integration.content_clients import Accounts, Answer, Caller
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.upgrading import MANUAL, pending, publish, waits
from tests.integration.operator.uploading import accounts
from tests.integration.page.owned import MARKER, MARKER_TEXT, Owned, with_objects
from tests.integration.page.populated import many, remove
from tests.manifests import manifest

DEPLOYMENTS = 300
MEMORY = 40 * 1024 * 1024
ROUNDS = 30
FOREIGN = "tests-elsewhere"  # no operator writes the status of its deployments
OURS = API_VERSION.partition("/")[0]
READER = [{"apiGroups": [OURS], "resources": ["bundledeployments", "bundles"], "verbs": ["get", "list"]}]
WORKLOADS = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]}]
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]


@dataclass(frozen=True, kw_only=True)
class Scene:
    operator: Operator
    accounts: Accounts
    kubectl: Kubectl
    owned: Owned
    names: list[str]

    async def viewer(self, name: str, rules: list[dict[str, list[str]]] | None = None) -> Caller:
        caller = await self.accounts.caller(name)
        if rules is not None:
            await self.accounts.grant(name, "viewer", rules)
        return caller

    @property
    def path(self) -> str:
        return f"/ui/deployments/{self.owned.name}"


@pytest.fixture
async def scene(
    request: pytest.FixtureRequest, plane: ControlPlane, admin: Client, tenant: Tenant, operators: StartOperator
) -> AsyncIterator[Scene]:
    """Three deployments, or as many as the test asks for."""
    number = getattr(request, "param", 3)
    names = await many(admin, number - 1, prefix=f"{tenant.name}-", foreign_class=FOREIGN)
    owned = await with_objects(admin, f"{tenant.name}-web", tenant.namespace, class_name=FOREIGN)
    operator = operators(arguments=["--page"])
    await operator.start()
    kubectl = Kubectl.on(plane.kubeconfig)
    accounts = Accounts(
        kubectl=kubectl,
        namespace=tenant.namespace,
        url=f"https://127.0.0.1:{operator.content_port}",
        system=tenant.system,
    )
    yield Scene(operator=operator, accounts=accounts, kubectl=kubectl, owned=owned, names=names)
    await remove(admin, [*names, owned.name])


async def test_viewers_see_what_they_may_and_nothing_else(scene: Scene) -> None:
    """No byte has the content of a Secret, for any reader. A part that may not be read is named."""
    reader, watcher = await scene.viewer("reader", READER), await scene.viewer("watcher", [*READER, *WORKLOADS])
    everything, nothing = await scene.viewer("everything", EVERYTHING), await scene.viewer("nothing")
    asked = await asyncio.gather(*(one.ask("GET", scene.path) for one in (reader, watcher, everything)))
    for answer in asked:
        assert answer.status == 200
        assert MARKER not in answer.text
        assert MARKER_TEXT not in answer.text
    for_reader, for_watcher, for_everything = (answer.text for answer in asked)
    assert "worker" not in for_reader
    assert "could not be read" in for_reader
    assert 'cannot list resource "secrets"' in for_reader.replace("&quot;", '"')
    assert "worker" in for_watcher
    assert "credentials" not in for_watcher
    assert "credentials" in for_everything
    assert "could not be read" not in for_everything
    refused = await nothing.ask("GET", scene.path)
    assert refused.status == 403
    assert "may not see this" in refused.text
    assert scene.owned.namespace not in refused.text.replace(f"serviceaccount:{scene.owned.namespace}", "")
    listing = await nothing.ask("GET", "/ui/")
    assert listing.status == 403
    assert not [name for name in scene.names if name in listing.text]


async def test_viewer_of_one_namespace_sees_its_objects_only(scene: Scene) -> None:
    """Rights come from RoleBindings: what they do not give is named, not shown."""
    caller = await scene.viewer("local", READER)
    account = f"--serviceaccount={scene.accounts.namespace}:local"
    there = f"--namespace={scene.owned.namespace}"
    await asyncio.to_thread(
        scene.kubectl.run, "create", "role", "maps", there, "--verb=get,list", "--resource=configmaps"
    )
    await asyncio.to_thread(scene.kubectl.run, "create", "rolebinding", "maps", there, "--role=maps", account)
    text = (await caller.ask("GET", scene.path)).text
    assert f"{scene.owned.namespace}/settings" in text
    assert f"{scene.owned.namespace}/worker" not in text


async def test_only_a_bearer_token_opens_the_page(scene: Scene) -> None:
    stranger, admin = await scene.accounts.without_account(), await scene.accounts.admin()
    for caller in (stranger, admin):
        answer = await caller.ask("GET", "/ui/")
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert answer.text.startswith("The page needs your bearer token in the header Authorization")
    forged = await scene.accounts.without_account("eyJhbGciOiJub25lIn0.e30.")
    answer = await forged.ask("GET", "/ui/")
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "Log in again" in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_page_takes_no_writes(scene: Scene, method: str) -> None:
    caller = await scene.viewer("everything", EVERYTHING)
    for path in ("/ui/", scene.path):
        assert (await caller.ask(method, path)).status == 405


async def test_answers_of_the_page_have_its_headers(scene: Scene) -> None:
    caller = await scene.viewer("reader", READER)
    paths = ("/ui/", scene.path, f"{scene.path}/plan", "/ui/static/page.css", "/ui/static/absent", "/ui/nothing")
    for path in paths:
        answer = await caller.ask("GET", path)
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in answer.headers


async def test_plan_is_for_those_who_may_have_it(scene: Scene) -> None:
    """The checks of GET /plans/<name> count here, too."""
    nothing = await scene.viewer("nothing")
    answer = await nothing.ask("GET", f"{scene.path}/plan")
    assert answer.status == 403
    assert "may not get bundledeployments.core.rukpak.io" in answer.text


async def test_plan_of_an_upgrade_that_waits_is_shown_without_values_of_secrets(
    plane: ControlPlane, tenant: Tenant, operators: StartOperator
) -> None:
    operator = operators(arguments=["--page"])
    await operator.start()
    secret = manifest("v1", "Secret", "login", tenant.namespace, stringData={"password": MARKER_TEXT})
    await publish(tenant, "one")
    await publish(tenant, "two", secret)
    await tenant.deploy("one", upgrades=MANUAL)
    await tenant.ready()
    await tenant.deploy("two", upgrades=MANUAL)
    digest = pending(await waits(tenant))["digest"]
    known = accounts(plane, tenant, operator)
    caller, reader = await known.caller("owner"), await known.caller("reader")
    await known.grant("owner", "owner", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    await known.grant("reader", "viewer", READER)

    for path in (f"/ui/deployments/{tenant.name}", f"/ui/deployments/{tenant.name}/plan"):
        answer = await caller.ask("GET", path)
        assert (answer.status, digest in answer.text) == (200, True)
        assert MARKER not in answer.text
        assert MARKER_TEXT not in answer.text
    assert f"{tenant.namespace}/login" in answer.text
    refused = await reader.ask("GET", f"/ui/deployments/{tenant.name}/plan")
    assert (refused.status, "may not" in refused.text) == (403, True)
    assert f"{tenant.namespace}/login" not in refused.text


@pytest.mark.parametrize("scene", [DEPLOYMENTS], indirect=True)
async def test_list_of_300_deployments_is_cheap(
    scene: Scene, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read in six pages of fifty. How long it takes is a figure, and decides nothing."""
    caller = await scene.viewer("reader", READER)
    await _page(caller, "/ui/")
    calls = await scene.operator.requests()
    began = time.perf_counter()
    answer = await _page(caller, "/ui/")
    seconds = time.perf_counter() - began
    made = await scene.operator.requests() - calls
    assert f"{DEPLOYMENTS} deployments" in answer.text
    lists = {labels: number for labels, number in made.items() if labels[:3] == ("list", OURS, "bundledeployments")}
    assert sum(lists.values()) == 6
    before = await scene.operator.metric("process_resident_memory_bytes")
    for _ in range(ROUNDS):
        await asyncio.gather(*(_page(caller, path) for path in ("/ui/", "/ui/?state=failed", scene.path)))
    grown = await scene.operator.metric("process_resident_memory_bytes") - before
    record_property("seconds of the list", seconds)
    record_property("bytes of memory", grown)
    with capsys.disabled():
        print(f"\nthe list: {seconds:.2f} s; {3 * ROUNDS} pages: +{grown / 1024 / 1024:.1f} MiB")  # noqa: T201 - a figure
    assert grown < MEMORY


async def _page(caller: Caller, path: str) -> Answer:
    answer = await caller.ask("GET", path)
    assert answer.status == 200
    return answer
