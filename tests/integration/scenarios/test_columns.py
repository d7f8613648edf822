"""The columns of `kubectl get`: the state, the version, and never certificates."""

import pytest
import yaml

from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.scenarios.helm_charts import installed
from tests.integration.scenarios.helm_charts import settings as settings_template
from tests.integration.scenarios.stage import Stage, is_observed, says, settings

STATE = ["NAME", "READY", "REASON", "CONTENT", "VERSION", "APP VERSION", "UPGRADE", "AGE"]
COLUMNS = [*STATE, "MESSAGE"]
WIDE = [*STATE, "ACTIVE BUNDLE", "INSTALL STATE", "PROVISIONER", "MESSAGE"]


async def shown(stage: Stage, *arguments: str) -> tuple[list[str], list[str]]:
    """The header and the only row, both cut where the columns of the header begin."""
    header, row = (await stage.run_kubectl("get", *arguments)).splitlines()
    names = [name.strip() for name in header.split("  ") if name.strip()]
    starts = [header.index(name) for name in names]
    ends = [*starts[1:], None]
    return names, [row[start:end].strip() for start, end in zip(starts, ends, strict=True)]


async def test_installed_deployment_shows_its_state_and_commit(
    stage: Stage, git_repository: Repository, git_web: GitWebServer
) -> None:
    commit = git_repository.commit({"manifests/a.yaml": yaml.safe_dump(settings(stage.namespace)).encode()})
    git = {"repository": git_web.url(NAME), "ref": {"branch": "main"}, "caBundle": git_web.ca_bundle}
    name = await stage.installed({"type": "git", "git": git})
    active = (await stage.deployment(name))["status"]["activeBundle"]
    text = f"Instantiated bundle {active} successfully"

    names, row = await shown(stage, "bundledeployment", name)
    assert names == COLUMNS
    assert row == [name, "True", "Succeeded", "", commit[:12], "", "", row[7], text]
    names, row = await shown(stage, "bundledeployment", name, "--output=wide")
    assert names == WIDE
    assert row[8:] == [active, "InstallationSucceeded", "core-rukpak-io-plain", text]

    names, row = await shown(stage, "bundle", active, "--output=wide")
    assert {"TYPE", "PHASE", "AGE", "PROVISIONER", "RESOLVED SOURCE", "READY", "MESSAGE"} < set(names)
    assert commit in row[names.index("RESOLVED SOURCE")]
    assert "CERTIFICATE" not in " ".join(row)


async def test_a_deployment_that_waits_says_for_what(stage: Stage) -> None:
    name = await stage.deploy({"type": "upload", "upload": {}})
    await stage.until_deployment(name, says("Ready", "Unknown", "UnpackPending"))
    names, row = await shown(stage, "bundledeployment", name)
    assert names == COLUMNS
    assert row[1:7] == ["Unknown", "UnpackPending", "", "", "", ""]
    assert "waiting for bundle to be uploaded" in row[8]


@pytest.mark.usefixtures("helm")
async def test_installed_chart_shows_its_name_and_versions(stage: Stage) -> None:
    metadata = "apiVersion: v2\nname: redis\nversion: 18.1.0\nappVersion: 7.2.1\n"
    name = await installed(stage, {"Chart.yaml": metadata, "templates/a.yaml": settings_template(a="1")})
    content = (await stage.deployment(name))["status"]["content"]
    assert content == {"name": "redis", "version": "18.1.0", "appVersion": "7.2.1"}
    _, row = await shown(stage, "bundledeployment", name)
    assert row[1:6] == ["True", "Succeeded", "redis", "18.1.0", "7.2.1"]


@pytest.mark.usefixtures("helm")
async def test_installed_names_the_chart_that_it_speaks_of_while_another_is_on_its_way(stage: Stage) -> None:
    metadata = "apiVersion: v2\nname: redis\nversion: 18.1.0\n"
    name = await installed(stage, {"Chart.yaml": metadata, "templates/a.yaml": settings_template(a="1")})
    active = (await stage.deployment(name))["status"]["activeBundle"]
    before = f"Instantiated bundle {active} successfully: redis 18.1.0 of generation 1; what generation 2 asks for"
    await stage.edit_template(name, {"type": "upload", "upload": {}})
    await stage.until_deployment(
        name, is_observed, says("Installed", "True", "InstallationSucceeded", f"{before} is not installed yet")
    )
