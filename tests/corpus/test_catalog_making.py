"""Templates, new packages and Dockerfiles beside those of `opm`: what is made, and what is refused."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.catalog.making.bundle_blob import bundle_blob
from rukpak_py.catalog.making.dockerfile import DEFAULT_IMAGE, dockerfile, labels_of
from rukpak_py.catalog.making.package_blob import package_blob
from rukpak_py.catalog.making.templates import read_template
from rukpak_py.catalog.model import Catalog
from rukpak_py.catalog.rendering import rendered
from rukpak_py.catalog.writing import written
from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from tests.corpus.catalogs import CATALOGS
from tests.corpus.test_catalog_bundles import files

TEMPLATES = CATALOGS / "templates"
# Refused by the image, not by the template.
NO_BUNDLES = {"basic-nolabels", "basic-otherlabels", "basic-fbc-image"}
FLAGS = {
    "-b": "builder",
    "-c": "channel",
    "--default-channel": "channel",
    "-d": "description",
    "-i": "image",
    "-l": "labels",
    "-o": "output",
    "--binary-image": "binary",
}

pytestmark = pytest.mark.skipif(not CATALOGS.exists(), reason=f"the corpus of catalogs is not at {CATALOGS}")


def runs(file: str, command: list[str]) -> list[dict[str, Any]]:
    goldens = CATALOGS / "goldens" / file
    found = json.loads(goldens.read_text()) if goldens.exists() else []
    return [run for run in found if run["args"][: len(command)] == command]


def given(arguments: list[str]) -> dict[str, list[str]]:
    """Options by their names, and what is none as `rest`."""
    found: dict[str, list[str]] = {"rest": []}
    words = iter(arguments)
    for word in words:
        found.setdefault(FLAGS[word], []).append(next(words)) if word in FLAGS else found["rest"].append(word)
    return found


def compare(catalog: Catalog, run: dict[str, Any], *, exact: bool = True) -> None:
    is_yaml = "yaml" in run["args"]
    text = b"".join(written(catalog, as_yaml=is_yaml))
    if is_yaml or not exact:
        assert yaml.load_all(text) == yaml.load_all(run["stdout"].encode())
    else:
        assert text.decode() == run["stdout"]


def basic_runs() -> list[Any]:
    return [
        pytest.param(run, id=" ".join(run["args"][2:]))
        for run in runs("templates.json", ["alpha", "render-template"])
        for name in [next((Path(word).stem for word in run["args"] if word.endswith(".yaml")), "")]
        if name.startswith("basic-") and not {"mermaid", "xml", "zz", "semver", "substitutes", "nope"} & {*run["args"]}
        if name not in NO_BUNDLES
    ]


@pytest.mark.parametrize("run", basic_runs())
def test_basic_template(run: dict[str, Any]) -> None:
    path = next(word for word in run["args"] if word.endswith(".yaml"))
    try:
        template = read_template((TEMPLATES / path).read_bytes())
    except ContentError:
        assert run["exit"] == 1
        return
    assert run["exit"] == 0
    directories = json.loads((TEMPLATES / "images.json").read_text())
    bundles = {
        image: bundle_blob(files(TEMPLATES / directories[image]["dir"]), image=image) for image in template.images
    }
    compare(rendered(template.rendered(bundles), migrate="--migrate-level" in run["args"]), run)


@pytest.mark.parametrize("path", sorted((TEMPLATES / "templates").glob("s*.yaml")), ids=lambda path: path.stem)
def test_other_templates_are_refused(path: Path) -> None:
    with pytest.raises(ContentError, match=r"supported, on purpose|unknown schema"):
        read_template(path.read_bytes())


def file_of(run: dict[str, Any], name: str) -> bytes:
    content = run.get("setup", {})[name]
    return content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])


def init_runs() -> list[Any]:
    """Without wrong usage, and without files that are not there."""
    found = []
    for run in runs("cli.json", ["init"]):
        named = given(run["args"][1:])
        wanted = [*named.get("description", []), *named.get("image", [])]
        if (
            len(named["rest"]) == 1
            and "xml" not in run["args"]
            and all(name in run.get("setup", {}) for name in wanted)
        ):
            found.append(pytest.param(run, id=" ".join(run["args"])))
    return found


@pytest.mark.parametrize("run", init_runs())
def test_new_package(run: dict[str, Any]) -> None:
    named = given(run["args"][1:])
    try:
        package = package_blob(
            named["rest"][0],
            default_channel=named.get("channel", [""])[0],
            description=b"".join(file_of(run, name) for name in named.get("description", [])),
            icon=next((file_of(run, name) for name in named.get("image", [])), None),
        )
    except ContentError:
        assert run["exit"] == 1
        return
    assert run["exit"] == 0
    # Go escapes the replacement of a byte that is not UTF-8.
    compare(Catalog(packages=(package,)), run, exact="\\ufffd" not in run["stdout"])


def dockerfile_runs() -> list[Any]:
    """Without wrong usage, and without what the file system decides."""
    return [
        pytest.param(run, id=" ".join(run["args"][2:]))
        for run in runs("cli.json", ["generate", "dockerfile"])
        if run["args"][2:3] == ["cat"] and "cat.Dockerfile" not in run.get("setup", {})
        if not {"--binary-image"} <= {*run["args"]} or run["exit"] == 0
    ]


@pytest.mark.parametrize("run", dockerfile_runs())
def test_dockerfile(run: dict[str, Any]) -> None:
    named = given(run["args"][2:])
    binary = named.get("binary", [DEFAULT_IMAGE])
    try:
        text = dockerfile(
            named["rest"][0],
            base_image=named.get("image", binary)[0],
            builder_image=named.get("builder", binary)[0],
            labels=labels_of(named.get("labels", [])),
        )
    except ContentError:
        assert run["exit"] == 1
        return
    assert run["exit"] == 0
    assert text == run["created"]["cat.Dockerfile"]
