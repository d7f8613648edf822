"""Catalogs of the corpus as they are written, beside `opm render`: JSON byte for byte, YAML by its values."""

from collections.abc import Iterator
from typing import Any

import pytest

from rukpak_py.catalog.rendering import rendered
from rukpak_py.catalog.writing import written
from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from tests.corpus.catalogs import CATALOGS, REAL, SYNTHETIC, golden_cases, read_catalog

EXCEPTIONS = {
    "s113-ok-extension-free": "a hidden file, which does not count here",
    "s167-numbers": "integers stay exact, and -0 is 0",
    "s175-symlink-file-ok": "a link, which is not followed here",
}

pytestmark = pytest.mark.skipif(not CATALOGS.exists(), reason=f"the corpus of catalogs is not at {CATALOGS}")


def runs() -> Iterator[Any]:
    """Runs on catalogs that can be read. YAML with control characters, which the reference refuses, is none of them."""
    for case in golden_cases():
        for run in case["runs"]:
            level = dict(zip(run["args"], run["args"][1:], strict=False)).get("--migrate-level", "")
            if run["args"][0] == "render" and not (run["exit"] and "--migrate" not in run["args"]) and level != "nope":
                marks = (
                    [pytest.mark.xfail(strict=True, reason=reason)] if (reason := EXCEPTIONS.get(case["name"])) else []
                )
                yield pytest.param(case["name"], run, id=" ".join((case["name"], *run["args"][2:])), marks=marks)


@pytest.mark.parametrize(("name", "run"), list(runs()))
def test_rendering_is_that_of_opm(name: str, run: dict[str, Any]) -> None:
    args = run["args"]
    directory = SYNTHETIC / name if name[1:4].isdigit() else REAL / args[1]
    is_migrated = "--migrate" in args or ("--migrate-level" in args and "none" not in args)
    try:
        catalog = rendered(read_catalog(directory), migrate=is_migrated)
    except ContentError:
        assert run["exit"] == 1
        return
    assert run["exit"] == 0
    text = b"".join(written(catalog, as_yaml="yaml" in args))
    if "yaml" in args:
        assert yaml.load_all(text) == yaml.load_all(run["stdout"].encode())
    else:
        assert text.decode() == run["stdout"]
