"""docs/moving-from-olm.md followed: its commands, on an operator as OLM leaves it."""

import asyncio
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import orjson
import yaml

from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import OWNER_NAME_LABEL
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CRDS, Resource
from tests.integration.definitions import install, remove
from tests.integration.operator.olm import published
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.test_olm_managed import CSVS, GROUP, SUBSCRIPTIONS, head, served
from tests.unit.bundles import crd

PAGE = Path(__file__).parents[3] / "docs" / "moving-from-olm.md"
PAGES_NAME = "gadgets"  # of the package, its namespace and its BundleDeployment
SECONDS = 120


def commands(heading: str) -> str:
    _, found, rest = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")
    assert found
    section = rest.partition("\n## ")[0]
    return "".join(re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))


def deployment_of_page() -> dict[str, Any]:
    (block,) = re.findall(r"^ *```yaml\n(.*?)^ *```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(block)
    return document


async def followed(script: str, *, plane: ControlPlane, folder: Path) -> None:
    path = f"{binaries.path('kubectl').parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(plane.kubeconfig)}
    done = await asyncio.to_thread(
        subprocess.run,
        ["bash", "-euc", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


async def test_operator_of_olm_moves_as_the_page_says_with_its_custom_resources(
    tenant: Tenant, operator: Operator, plane: ControlPlane, tmp_path: Path
) -> None:
    name = tenant.namespace
    kinds = [served(resource) for resource in (SUBSCRIPTIONS, CSVS)]
    kinds[1]["spec"]["names"]["shortNames"] = ["csv"]
    theirs = crd(group=f"{name}.example.com")
    theirs["metadata"]["labels"] = {"olm.managed": "true", f"{GROUP}/{name}.{name}": ""}
    await install(tenant.admin, [*kinds, theirs])
    try:
        for resource, object_name in ((SUBSCRIPTIONS, name), (CSVS, f"{name}.v1.0.0")):
            body = {**head(resource), "metadata": {"name": object_name}, "spec": {"name": name}}
            await tenant.admin.create(resource, name, orjson.dumps(body))
        demos = Resource(
            gvk=GroupVersionKind(f"{name}.example.com", theirs["spec"]["versions"][0]["name"], "Demo"),
            plural="demos",
            namespaced=True,
        )
        await tenant.admin.create(demos, name, orjson.dumps({**head(demos), "metadata": {"name": "kept"}}))
        before = await tenant.read(demos, name, "kept")

        document = orjson.loads(orjson.dumps(deployment_of_page()).replace(PAGES_NAME.encode(), name.encode()))
        document["spec"]["template"]["spec"]["source"] = (await published(tenant, name))["template"]["spec"]["source"]
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document))
        tenant.sees_to(name)
        await followed(commands("Move").replace(PAGES_NAME, name), plane=plane, folder=tmp_path)

        definition = await tenant.read(CRDS, "", theirs["metadata"]["name"])
        labels = definition["metadata"]["labels"]
        assert labels[OWNER_NAME_LABEL] == name
        assert "olm.managed" not in labels
        assert (await tenant.read(demos, name, "kept"))["metadata"]["uid"] == before["metadata"]["uid"]
        await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", name)
        await tenant.gone(BUNDLE_DEPLOYMENTS, name)
        assert (await tenant.read(demos, name, "kept"))["metadata"]["uid"] == before["metadata"]["uid"]
    finally:
        for plural, group in (("subscriptions", GROUP), (CSVS.plural, GROUP), ("demos", f"{name}.example.com")):
            await remove(tenant.admin, plural, group)
