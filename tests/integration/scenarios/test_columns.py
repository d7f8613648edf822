"""What `kubectl get` shows of our kinds: how it does, which version, and never what nobody reads."""

import yaml

from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.scenarios.stage import Stage, says, settings

COLUMNS = ["NAME", "READY", "REASON", "VERSION", "AGE", "MESSAGE"]
WIDE = ["NAME", "READY", "REASON", "VERSION", "AGE", "ACTIVE BUNDLE", "INSTALL STATE", "PROVISIONER", "MESSAGE"]


async def shown(stage: Stage, *arguments: str) -> tuple[list[str], list[str]]:
    """The header and the only row, both cut where the columns of the header begin."""
    header, row = (await stage.run_kubectl("get", *arguments)).splitlines()
    names = [name.strip() for name in header.split("  ") if name.strip()]
    starts = [header.index(name) for name in names]
    ends = [*starts[1:], None]
    return names, [row[start:end].strip() for start, end in zip(starts, ends, strict=True)]


async def test_a_deployment_that_is_installed(stage: Stage, git_repository: Repository, git_web: GitWebServer) -> None:
    commit = git_repository.commit({"manifests/a.yaml": yaml.safe_dump(settings(stage.namespace)).encode()})
    git = {"repository": git_web.url(NAME), "ref": {"branch": "main"}, "caBundle": git_web.ca_bundle}
    name = await stage.installed({"type": "git", "git": git})
    active = (await stage.deployment(name))["status"]["activeBundle"]
    text = f"Instantiated bundle {active} successfully"

    names, row = await shown(stage, "bundledeployment", name)
    assert names == COLUMNS
    assert row == [name, "True", "Succeeded", commit[:12], row[4], text]
    names, row = await shown(stage, "bundledeployment", name, "--output=wide")
    assert names == WIDE
    assert row[5:] == [active, "InstallationSucceeded", "core-rukpak-io-plain", text]

    names, row = await shown(stage, "bundle", active, "--output=wide")
    assert {"TYPE", "PHASE", "AGE", "PROVISIONER", "RESOLVED SOURCE", "READY", "MESSAGE"} < set(names)
    assert commit in row[names.index("RESOLVED SOURCE")]
    assert "CERTIFICATE" not in " ".join(row)


async def test_a_deployment_that_waits_says_for_what(stage: Stage) -> None:
    name = await stage.deploy({"type": "upload", "upload": {}})
    await stage.until_deployment(name, says("Ready", "Unknown", "UnpackPending"))
    names, row = await shown(stage, "bundledeployment", name)
    assert names == COLUMNS
    assert row[1:4] == ["Unknown", "UnpackPending", ""]
    assert "waiting for bundle to be uploaded" in row[5]
