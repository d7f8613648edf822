"""docs/helm-charts.md followed: the commands of the page, on a release that the real helm has installed."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from e2e.cluster import binaries
from rukpak_py.api.names import HELM_CLASS, OWNER_NAME_LABEL
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, NAMESPACES, SECRETS
from tests.helm_oracle.archives import served
from tests.helm_oracle.cases import Case, own_cases
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import Document, Stage
from tests.manifests import deployment

PAGE = Path(__file__).parents[3] / "docs" / "helm-charts.md"
COMMAND_SECONDS = 90


@dataclass(frozen=True, kw_only=True)
class Shell:
    """The shell of a user, in a folder with the files of the page; its release has the name of the test."""

    folder: Path
    name: str
    environment: dict[str, str]

    async def follow(self, heading: str, *, release: str = "blog") -> None:
        """Run the shell blocks below this heading; `release`: the name that the page has in it."""
        _, found, rest = PAGE.read_text().partition(f"# {heading}\n")
        assert found, f"{PAGE.name} has no {heading}"
        section = re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]
        blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        assert blocks
        await self.run("".join(blocks), release=release)

    async def run(self, script: str, *, release: str = "blog") -> str:
        """Run the script and return what it prints. Names of archives begin as that of a release may."""
        script = re.sub(rf"\b{release}\b(?!-\d)", self.name, script)
        return await asyncio.to_thread(self._run, f"set -euo pipefail\n{script}")

    def _run(self, script: str) -> str:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def case(helm: HelmProgram, tmp_path: Path) -> Case:
    """The case of a chart with a Secret that keeps its password by `lookup`."""
    (made,) = own_cases(tmp_path / "charts", Path(helm.path), {"kept-password"})
    return replace(made, values={"port": 6000})


@pytest.fixture
def shell(stage: Stage, kubeconfig: Path, helm: HelmProgram, case: Case, tmp_path: Path) -> Shell:
    shutil.copy(case.first.path, tmp_path / "shop-1.0.0.tgz")
    shutil.copy(case.second.path, tmp_path / "shop-2.0.0.tgz")
    folders = (binaries.path("kubectl").parent, Path(helm.path).parent, Path(sys.executable).parent)
    programs = f"{':'.join(map(str, folders))}:{os.environ['PATH']}"
    homes = {f"HELM_{name}_HOME": str(tmp_path / name) for name in ("CACHE", "CONFIG", "DATA")}
    environment = {**os.environ, **homes, "PATH": programs, "KUBECONFIG": str(kubeconfig)}
    return Shell(folder=tmp_path, name=stage.name, environment=environment)


async def password(stage: Stage) -> str:
    found = await stage.get(SECRETS, stage.name, stage.name)
    return str(found["data"]["password"])


def as_the_page_says(stage: Stage, url: str, values: Document) -> Document:
    source = {"type": "http", "http": {"url": url}}
    body = deployment(stage.name, source, provisionerClassName=HELM_CLASS, adopt="Force", config={"values": values})
    body["spec"]["installNamespace"] = stage.name
    body["spec"]["template"]["spec"]["provisionerClassName"] = HELM_CLASS
    return body


async def test_a_release_is_taken_over_and_given_back_with_its_password(stage: Stage, shell: Shell, case: Case) -> None:
    (shell.folder / "values.yaml").write_text(yaml.safe_dump(dict(case.values)))
    await shell.run("helm install blog shop-1.0.0.tgz --namespace blog --create-namespace --values values.yaml")
    stage.made.append((NAMESPACES, "", stage.name))
    made_by_helm = await password(stage)

    with served([case]) as archives:
        values = yaml.safe_load(await shell.run("helm get values blog --namespace blog --output json"))
        body = as_the_page_says(stage, f"http://{archives}/{case.first.path.name}", values)
        (shell.folder / f"{stage.name}.yaml").write_text(yaml.safe_dump(body))
        stage.made.append((BUNDLE_DEPLOYMENTS, "", stage.name))
        await shell.follow("Take a release over from helm")
        await until_told(stage, stage.name, "Adopted", "Normal: adopted 3 objects")
        assert await password(stage) == made_by_helm
        assert (await stage.deployment())["status"]["history"][0]["isUpgrade"] is True
        assert await shell.run("helm list --namespace blog --short") == ""

        second = {"type": "http", "http": {"url": f"http://{archives}/{case.second.path.name}"}}
        await stage.edit_template(stage.name, second)
        await stage.until_ready(stage.name)
        assert (await stage.deployment())["status"]["version"] == "2.0.0"
        assert await password(stage) == made_by_helm

    await shell.follow("Give it back to helm")
    assert await password(stage) == made_by_helm
    found = await stage.get(SECRETS, stage.name, stage.name)
    assert OWNER_NAME_LABEL not in found["metadata"]["labels"]
    assert "ownerReferences" not in found["metadata"]
    assert not await stage.exists(BUNDLE_DEPLOYMENTS, "", stage.name)
    await shell.run("helm upgrade blog shop-2.0.0.tgz --namespace blog --values values.yaml")
    assert await password(stage) == made_by_helm
    await shell.run("helm uninstall blog --namespace blog")
    assert not await stage.exists(SECRETS, stage.name, stage.name)


async def test_going_back_takes_the_template_and_the_values_from_the_history(
    stage: Stage, shell: Shell, case: Case
) -> None:
    with served([case]) as archives:
        body = as_the_page_says(stage, f"http://{archives}/{case.first.path.name}", {"port": 6000})
        body = {**body, "spec": {**body["spec"], "createNamespace": True}}
        (shell.folder / "first.json").write_text(json.dumps(body))
        await shell.run("kubectl apply -f first.json")  # as a user: rollback asks who manages what it changes
        await stage.until_ready(stage.name)
        first = await password(stage)
        source = {"type": "http", "http": {"url": f"http://{archives}/{case.second.path.name}"}}
        config = {"values": {"port": 6001, "more": True}}
        changed = json.dumps({"spec": {"template": {"spec": {"source": source}}, "config": config}})
        await shell.run(f"kubectl patch bundledeployment blog --type=merge -p '{changed}'")
        await stage.until_ready(stage.name)
        await shell.run("kubectl wait --for=jsonpath='{.status.version}'=2.0.0 bundledeployment/blog --timeout=60s")
        await shell.follow("Go back", release="shop")
        after = await stage.deployment()
        assert after["status"]["version"] == "1.0.0"
        assert after["spec"]["config"] == {"values": {"port": 6000}}
        assert await password(stage) == first
