"""Charts from web servers and git repositories, by the real helm."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.kube.resources import BUNDLES
from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.scenarios.helm_charts import DEPLOYMENTS, HELLO_WORLD, WORKLOAD, below, deploy, is_available
from tests.integration.scenarios.stage import SYSTEM, Document, Stage, says
from tests.unit.sources.websites import Authority, Site, authority, tgz, website

pytestmark = pytest.mark.usefixtures("helm")


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return authority(tmp_path)


@pytest.fixture
async def site(ours: Authority) -> AsyncIterator[Site]:
    async with website(ours.server("127.0.0.1")) as site:
        site.gives("/hello-world.tgz", tgz(below("hello-world", HELLO_WORLD)))
        yield site


@pytest.fixture
def charts(git_repository: Repository) -> Repository:
    """One chart, in a directory of charts."""
    git_repository.commit(below("charts/hello-world", HELLO_WORLD))
    return git_repository


def http(site: Site, ours: Authority, path: str = "/hello-world.tgz") -> Document:
    return {"type": "http", "http": {"url": site.url(path), "caBundle": ours.pem}}


def git(web: GitWebServer, directory: str) -> Document:
    given = {"repository": web.url(NAME), "ref": {"branch": "main"}, "directory": directory}
    return {"type": "git", "git": {**given, "caBundle": web.ca_bundle}}


async def hello_world(stage: Stage, source: Document, *, name: str = "hello-world", **spec: Any) -> str:
    """Installed where charts go by default; the name of its workload, which is available."""
    made = await deploy(stage, source, installNamespace=None, **spec)
    found = await stage.until_ready(made)
    assert says("Installed", "True", "InstallationSucceeded", "Instantiated bundle")(found)
    assert found["status"]["activeBundle"]
    workload = f"{made}-{name}"
    await stage.until(DEPLOYMENTS, SYSTEM, workload, is_available)
    return workload


async def comes_back(stage: Stage, workload: str) -> None:
    before = await stage.get(DEPLOYMENTS, SYSTEM, workload)
    await stage.client.delete(DEPLOYMENTS, SYSTEM, workload)
    is_another = lambda found: found["metadata"]["uid"] != before["metadata"]["uid"]  # noqa: E731 - a check
    await stage.until(DEPLOYMENTS, SYSTEM, workload, is_another, is_available)


async def test_scenarios_52_and_53_an_archive_of_a_chart(stage: Stage, site: Site, ours: Authority) -> None:
    await hello_world(stage, http(site, ours))


async def test_scenario_54_deleted_workload_of_an_archive_comes_back(stage: Stage, site: Site, ours: Authority) -> None:
    await comes_back(stage, await hello_world(stage, http(site, ours)))


async def test_scenario_55_a_url_that_answers_404(stage: Stage, site: Site, ours: Authority) -> None:
    name = await deploy(stage, http(site, ours, "/missing.tgz"))
    text = 'unexpected status "404 Not Found"'
    await stage.until_deployment(name, says("HasValidBundle", "False", "UnpackFailed", text))


async def test_scenario_56_a_url_of_a_text_file(stage: Stage, site: Site, ours: Authority) -> None:
    site.gives("/README.md", b"# No archive\n")
    name = await deploy(stage, http(site, ours, "/README.md"))
    await stage.until_deployment(name, says("HasValidBundle", "False", "UnpackFailed", "gzip: invalid header"))


async def test_scenario_57_an_archive_that_is_no_chart(stage: Stage, site: Site, ours: Authority) -> None:
    site.gives("/manifests.tgz", tgz({"manifests/a.yaml": b"kind: ConfigMap\n", "README.md": b""}))
    name = await deploy(stage, http(site, ours, "/manifests.tgz"))
    await stage.until_deployment(name, says("HasValidBundle", "False", "UnpackFailed", "Chart.yaml file is missing"))


async def test_scenarios_58_and_59_one_chart_in_a_directory_of_git(
    stage: Stage, charts: Repository, git_web: GitWebServer
) -> None:
    await hello_world(stage, git(git_web, "./charts"))


async def test_scenario_60_deleted_workload_of_a_repository_comes_back(
    stage: Stage, charts: Repository, git_web: GitWebServer
) -> None:
    await comes_back(stage, await hello_world(stage, git(git_web, "./charts")))


async def test_scenario_61_a_chart_at_the_root(stage: Stage, charts: Repository, git_web: GitWebServer) -> None:
    """The served archive has the chart below a directory."""
    await hello_world(stage, git(git_web, "./charts/hello-world"))
    (bundle,) = await stage.bundles_of(stage.name)
    archive = stage.operator.storage / f"{bundle['metadata']['name']}.tgz"
    assert archive.resolve().name.endswith(".converted.tgz")
    assert (await stage.get(BUNDLES, "", bundle["metadata"]["name"]))["status"]["contentURL"]


async def test_scenario_62_values_of_the_config_are_used(stage: Stage, site: Site, ours: Authority) -> None:
    await hello_world(stage, http(site, ours), name="fromvalues", config={"values": "nameOverride: fromvalues\n"})


async def test_helmignore_counts_in_a_repository_and_not_in_an_archive(
    stage: Stage, site: Site, ours: Authority, git_repository: Repository, git_web: GitWebServer
) -> None:
    """The backup file of an editor has the same object once more."""
    left_behind = {".helmignore": "*.orig\n", "templates/deployment.yaml.orig": WORKLOAD}
    files = below("hello-world", HELLO_WORLD | left_behind)
    git_repository.commit(files)
    await hello_world(stage, git(git_web, "./hello-world"))
    site.gives("/packed.tgz", tgz(files))
    name = await deploy(stage, http(site, ours, "/packed.tgz"), name=f"{stage.name}-packed")
    await stage.until_deployment(name, says("HasValidBundle", "False", "", "is there already, from hello-world/templ"))
