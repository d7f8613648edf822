"""An operator in mode narrow installs, upgrades, corrects and removes real bundles and charts, with the printed roles.

The operator has the rights of its chart; all else is what `rukpakctl bundle permissions` prints. The audit log shows
that no request was refused, neither to the operator nor to an account. No pods run, so content is Installed and not
Healthy. A few bundles and charts of great variety are tried. With RUKPAK_LEAST_PRIVILEGE=all it is every fourth bundle
of the corpus, 53 of them, and all charts, which takes too long for every run.
"""

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import orjson
import pytest

from e2e.cluster.audit import audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.policies.document import PROBE
from rukpak_py.formats.helm.process import VARIABLE, HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import NAMESPACES
from tests.corpus.installing import Installer
from tests.corpus.place import BUNDLES, needs_corpus
from tests.corpus.real_bundles import RealBundle, batches, real_bundle
from tests.integration.operator.charts_of_kinds import templates_of
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK
from tests.integration.operator.granting import ACCOUNT, revoke
from tests.integration.operator.installed_content import Archives, InstalledContent, Lives
from tests.integration.operator.narrow import Rights
from tests.integration.operator.process import Operator
from tests.integration.operator.real_contents import FEW, REFUSED, content_of_bundle, content_of_chart
from tests.integration.operator.tenant import Tenant
from tests.unit.web_servers import serving

ARE_ALL = os.environ.get("RUKPAK_LEAST_PRIVILEGE") == "all"
AT_ONCE = 11
FEW_CHARTS = ("web", "hooks", "brought")
NARROW = ["--mode=narrow", "--leader-elect"]


def chosen_bundles() -> list[RealBundle]:
    folders = sorted(BUNDLES.glob("[0-9]*"))[::4] if ARE_ALL else [BUNDLES / name for name in FEW]
    return [real_bundle(one) for one in folders if one.name not in REFUSED]


class Ground:
    """An operator with the rights of its chart in mode narrow, and of its own accounts."""

    def __init__(self, plane: ControlPlane, tenant: Tenant, rights: Rights) -> None:
        self.tenant = tenant
        self._plane = plane
        self._rights = rights
        self._start = len(audited(plane.state))

    async def begin(self, contents: Sequence[InstalledContent]) -> Path:
        """Make a kubeconfig of the operator, which may act as the accounts of these contents."""
        for content in contents:
            body = {"metadata": {"name": content.namespace}}
            await self.tenant.admin.create(NAMESPACES, "", orjson.dumps(body))
        await self._rights.of_chart({content.namespace: [ACCOUNT] for content in contents})
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{self.tenant.system}"]
        return self._plane.user_kubeconfig(self._rights.operator, groups)

    def refused(self) -> set[str]:
        """Requests of the operator that were refused, but for the probes, which the policies refuse to every user."""
        return {
            str(one)
            for one in audited(self._plane.state, skip=self._start)
            if one.user == self._rights.operator and one.is_forbidden and not (one.is_dry_run and one.name == PROBE)
        }


@pytest.fixture
async def ground(
    plane: ControlPlane, tenant: Tenant, admin: Client, helm: HelmProgram, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Ground]:
    monkeypatch.setenv(VARIABLE, helm.path)  # for the command
    rights = Rights(admin, tenant, helm)
    yield Ground(plane, tenant, rights)
    await rights.end()


async def begin_operator(operators: StartOperator, kubeconfig: Path, helm: HelmProgram) -> Operator:
    operator = operators(kubeconfig=kubeconfig, arguments=[*NARROW, LOOPBACK, f"--helm={helm.path}"])
    await operator.start()
    return operator


@needs_corpus
@pytest.mark.timeout(7200 if ARE_ALL else 600)
async def test_bundles_live_with_the_printed_roles_and_not_one_request_is_refused(
    ground: Ground, operators: StartOperator, helm: HelmProgram, tmp_path: Path
) -> None:
    bundles = chosen_bundles()
    contents = {one.name: content_of_bundle(one, tmp_path) for one in bundles}
    kubeconfig = await ground.begin([*contents.values()])
    failed = dict[str, str]()
    with serving(Archives([*contents.values()])) as server:
        operator = await begin_operator(operators, kubeconfig, helm)
        await ground.tenant.settled()
        lives, installer = Lives(ground.tenant, server.address), Installer(ground.tenant.admin, server.address)
        async with installer.watched_namespace():
            for batch in batches(bundles, AT_ONCE):
                nexts = [real_bundle(contents[one.name].second) for one in batch]
                async with installer.missing_kinds([*batch, *nexts]):
                    failed |= await lives.of([contents[one.name] for one in batch])
        await operator.stop()
    await revoke(ground.tenant.admin, lives.granted)
    assert failed == {}
    assert ground.refused() == set()


@pytest.mark.timeout(1200)
async def test_charts_live_with_the_printed_roles_and_not_one_request_is_refused(
    ground: Ground, operators: StartOperator, helm: HelmProgram, tmp_path: Path
) -> None:
    mark = ground.tenant.name
    names = [*templates_of(mark)] if ARE_ALL else FEW_CHARTS
    contents = [content_of_chart(one, tmp_path, mark) for one in names]
    kubeconfig = await ground.begin(contents)
    with serving(Archives(contents)) as server:
        operator = await begin_operator(operators, kubeconfig, helm)
        await ground.tenant.settled()
        lives = Lives(ground.tenant, server.address)
        failed = await lives.of(contents)
        await operator.stop()
    await revoke(ground.tenant.admin, lives.granted)
    assert failed == {}
    assert ground.refused() == set()
