"""Charts that the real `helm push` wrote to a real registry."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from e2e.servers.registry import RUKPAKCTL
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from rukpak_py.sources.image.descriptors import CHART
from tests.integration.images.registry import Registry, running_registry
from tests.integration.scenarios.helm_charts import HELLO_WORLD, deploy, settings
from tests.integration.scenarios.stage import Document, Stage
from tests.unit.charts import metadata


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with running_registry(tmp_path_factory.mktemp("registry"), with_tls=True) as registry:
        yield registry


def packaged(helm: HelmProgram, folder: Path, files: Mapping[str, str | bytes], *, version: str = "1.0.0") -> Path:
    """The archive that helm makes of a directory."""
    chart = folder / "chart"
    for path, content in files.items():
        (chart / path).parent.mkdir(parents=True, exist_ok=True)
        (chart / path).write_bytes(content.encode() if isinstance(content, str) else content)
    called(helm, folder, "package", f"--version={version}", "--app-version=2.1", str(chart))
    (archive,) = folder.glob("*.tgz")
    return archive


def pushed(registry: Registry, helm: HelmProgram, archive: Path) -> str:
    """Push the chart with a signature beside it; return its reference."""
    ours = archive.with_name("authority.pem")
    ours.write_text(registry.authority)
    archive.with_name(f"{archive.name}.prov").write_text("no real signature\n")
    called(helm, archive.parent, "push", f"--ca-file={ours}", archive.name, f"oci://{registry.address}/charts")
    return f"{registry.address}/charts/{archive.stem.replace('-1', ':1').replace('+', '_')}"


def called(helm: HelmProgram, folder: Path, *arguments: str) -> None:
    subprocess.run([helm.path, *arguments], cwd=folder, env={**os.environ, "HOME": str(folder)}, check=True)


def image(registry: Registry, ref: str) -> Document:
    return {"type": "image", "image": {"ref": ref, "caBundle": registry.authority}}


async def test_a_pushed_chart_is_installed_with_its_version_in_the_status(
    stage: Stage, registry: Registry, helm: HelmProgram, tmp_path: Path
) -> None:
    ref = pushed(registry, helm, packaged(helm, tmp_path, HELLO_WORLD, version="1.2.0+build"))
    name = await deploy(stage, image(registry, ref))
    found = await stage.until_ready(name)
    content = found["status"]["content"]
    assert (content["name"], content["version"], content["appVersion"]) == ("hello-world", "1.2.0+build", "2.1")
    bundle = await stage.get(BUNDLES, "", found["status"]["activeBundle"])
    assert bundle["status"]["artifactType"] == CHART
    assert bundle["status"]["resolvedSource"]["image"]["ref"].startswith(f"{registry.address}/charts/hello-world@sha")


async def test_file_that_helm_packed_is_not_ignored_when_unpacked(
    stage: Stage, registry: Registry, helm: HelmProgram, tmp_path: Path
) -> None:
    """Rules of a .helmignore do not count inside archives of dependencies, which are directories once it is packed."""
    sub = {"Chart.yaml": metadata("sub"), "templates/extra/a.yaml": settings("from-sub")}
    (tmp_path / "sub").mkdir()
    inner = packaged(helm, tmp_path / "sub", sub)
    files: dict[str, str | bytes] = {
        "Chart.yaml": metadata("web", dependencies="[{name: sub, version: 1.0.0}]"),
        ".helmignore": "extra/\n*.orig\n",
        "templates/a.yaml": settings("ours"),
        "templates/a.yaml.orig": settings("ours"),
        f"charts/{inner.name}": inner.read_bytes(),
    }
    (tmp_path / "web").mkdir()
    ref = pushed(registry, helm, packaged(helm, tmp_path / "web", files))
    await stage.until_ready(await deploy(stage, image(registry, ref)))
    for name in ("ours", "from-sub"):
        await stage.until(CONFIG_MAPS, stage.namespace, name)
    assert names_printed(helm, ref, tmp_path / "web") == {"ours", "from-sub"}


def names_printed(helm: HelmProgram, ref: str, folder: Path) -> set[str]:
    """Names of the objects that the command line prints; it trusts the authority of the registry."""
    environment = {**os.environ, "SSL_CERT_FILE": str(folder / "authority.pem"), "RUKPAK_HELM": helm.path}
    command = [str(RUKPAKCTL), "bundle", "render", f"oci://{ref}"]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True).stdout
    return {one["metadata"]["name"] for one in yaml.safe_load_all(printed)}
