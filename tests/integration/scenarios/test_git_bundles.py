"""Bundles of git repositories, by the real git over https and ssh."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rukpak_py.kube.resources import BUNDLES, SECRETS
from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_ssh_server import git_ssh_server
from tests.git_web_server import GitWebServer
from tests.integration.scenarios.stage import SYSTEM, Document, Stage, condition, phase, says, settings

CANARY = "canary-of-git-bundles"


@pytest.fixture
def served(stage: Stage, git_repository: Repository) -> Repository:
    """A repository as in the sample of the original: a bundle at the root, with a tag, and another in dev/deploy."""
    root = yaml.safe_dump(settings(stage.namespace, "root")).encode()
    deploy = yaml.safe_dump(settings(stage.namespace, "deploy")).encode()
    files = {"README.md": b"# combo\n", "manifests/00.yaml": root, "dev/deploy/manifests/00.yaml": deploy}
    git_repository.git("tag", "v0.0.1", git_repository.commit(files))
    return git_repository


def git(web: GitWebServer, ref: Document, **more: Any) -> Document:
    return {"type": "git", "git": {"repository": web.url(NAME), "ref": ref, "caBundle": web.ca_bundle} | more}


async def unpacked(stage: Stage, source: Document) -> Document:
    """The resolved source, which is all of the source but for the ref, and for certificates."""
    name = await stage.bundle(source)
    text = "Successfully unpacked the git Bundle"
    found = await stage.until_bundle(name, phase("Unpacked"), says("Unpacked", "True", "UnpackSuccessful", text))
    resolved: Document = found["status"]["resolvedSource"]
    assert resolved["type"] == "git"
    given = {key: value for key, value in source["git"].items() if key != "caBundle"}
    assert resolved["git"] == given | {"ref": resolved["git"]["ref"]}
    assert re.fullmatch("[0-9a-f]{40}", resolved["git"]["ref"]["commit"])
    assert list(resolved["git"]["ref"]) == ["commit"]
    return resolved


async def secret(stage: Stage, name: str, **data: bytes) -> None:
    encoded = {key.replace("_", "-"): base64.b64encode(value).decode() for key, value in data.items()}
    await stage.create(SECRETS, SYSTEM, {"metadata": {"name": name}, "data": encoded})


async def test_scenario_22_by_commit(stage: Stage, served: Repository, git_web: GitWebServer) -> None:
    commit = served.git("rev-parse", "main")
    served.commit({"later": b""})
    resolved = await unpacked(stage, git(git_web, {"commit": commit}))
    assert resolved["git"]["ref"]["commit"] == commit


async def test_scenario_23_by_tag(stage: Stage, served: Repository, git_web: GitWebServer) -> None:
    resolved = await unpacked(stage, git(git_web, {"tag": "v0.0.1"}))
    assert resolved["git"]["ref"]["commit"] == served.git("rev-parse", "v0.0.1")


async def test_scenario_24_by_branch(stage: Stage, served: Repository, git_web: GitWebServer) -> None:
    assert git_web.url(NAME).endswith(".git")
    resolved = await unpacked(stage, git(git_web, {"branch": "main"}))
    assert resolved["git"]["ref"]["commit"] == served.git("rev-parse", "main")


async def test_scenario_25_a_directory_is_installed(stage: Stage, served: Repository, git_web: GitWebServer) -> None:
    await stage.installed(git(git_web, {"branch": "main"}, directory="./dev/deploy"))
    assert await stage.has_settings("deploy")
    assert not await stage.has_settings("root")


@pytest.mark.parametrize("directory", ["./", "."])
async def test_p1_the_root_in_one_letter(
    stage: Stage, served: Repository, git_web: GitWebServer, directory: str
) -> None:
    """It ended the process of the original."""
    await unpacked(stage, git(git_web, {"branch": "main"}, directory=directory))


async def test_scenario_26_a_private_repository_over_https(
    stage: Stage, served: Repository, git_web: GitWebServer
) -> None:
    git_web.login = ("jane", CANARY)
    name = f"{stage.name}-login"
    source = git(git_web, {"branch": "main"}, auth={"secret": {"name": name}})
    bundle = await stage.bundle(source, name=f"{stage.name}-early")
    missing = f'source bundle content: configuring Auth error: get secret {SYSTEM}/{name}: Secret "{name}" not found'
    await stage.until_bundle(bundle, says("Unpacked", "False", "UnpackFailed", missing))
    await secret(stage, name, username=b"jane", password=CANARY.encode())
    await unpacked(stage, source)
    await stage.until_bundle(bundle, phase("Unpacked"))
    assert CANARY not in str(await stage.get(BUNDLES, "", bundle))
    assert CANARY not in log_of(stage)


async def test_scenario_27_a_private_repository_over_ssh(stage: Stage, served: Repository, tmp_path: Path) -> None:
    async with git_ssh_server(tmp_path / "sshd") as ssh:
        name = f"{stage.name}-gitsecret"
        await secret(stage, name, ssh_privatekey=ssh.private_key)
        auth = {"secret": {"name": name}, "insecureSkipVerify": True}
        await unpacked(
            stage, {"type": "git", "git": {"repository": ssh.url(served.path), "ref": {"branch": "main"}, "auth": auth}}
        )
        assert base64.b64encode(ssh.private_key).decode() not in log_of(stage)


async def test_the_content_stays_when_the_branch_moves(stage: Stage, served: Repository, git_web: GitWebServer) -> None:
    name = await stage.installed(git(git_web, {"branch": "main"}))
    asked = len(git_web.requests)
    served.commit({"manifests/other.yaml": yaml.safe_dump(settings(stage.namespace, "other")).encode()})
    await stage.barrier()
    assert not await stage.has_settings("other")
    assert len(git_web.requests) == asked
    await stage.until_ready(name)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"ref": {"commit": "f" * 40}}, 'checkout commit "ffffffffffffffffffffffffffffffffffffffff": repository '),
        ({"directory": "no"}, 'get subdirectory "no" for repository "{url}": there is no such directory'),
        ({"repository": "ext::sh"}, "repository 'ext::sh' is refused: remote helpers of git are not supported"),
        ({"repository": "file:///etc"}, "repository 'file:///etc' is refused: scheme 'file' is not supported"),
    ],
)
async def test_source_that_its_author_must_correct_is_stalled(
    stage: Stage, served: Repository, git_web: GitWebServer, more: Document, text: str
) -> None:
    source = git(git_web, {"branch": "main"})
    name = await stage.bundle({"type": "git", "git": source["git"] | more})
    expected = f"source bundle content: {text.format(url=git_web.url(NAME))}"
    found = await stage.until_bundle(name, says("Unpacked", "False", "UnpackFailed", expected))
    assert says("Stalled", "True", "ContentError")(found)


async def test_branch_that_is_pushed_later_is_unpacked_by_itself(
    stage: Stage, served: Repository, git_web: GitWebServer
) -> None:
    name = await stage.bundle(git(git_web, {"branch": "later"}))
    missing = 'source bundle content: bundle unpack git clone error: couldn\'t find remote ref "refs/heads/later"'
    found = await stage.until_bundle(name, says("Unpacked", "False", "UnpackFailed", missing))
    assert says("Ready", "False", "Unavailable")(found)
    assert not condition(found, "Stalled")
    served.git("branch", "later", "main")
    await stage.until_bundle(name, says("Unpacked", "True"))


def log_of(stage: Stage) -> str:
    return stage.operator.log.read_text(errors="replace")
