"""Every golden of the reference renderer, with parity: all modes, all certificate providers, every refusal.

What it cannot parse we refuse at the same stage, in our words; what it refuses to render, in its own.
"""

import gzip
import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render import render
from rukpak_py.sources.local import open_tree
from tests.corpus.canonical_form import Json, digest
from tests.corpus.place import CORPUS, GOLDENS, needs_corpus

SUFFIX = ".suc.json.gz"
pytestmark = needs_corpus

PROVIDERS = {
    "cert-manager": Certificates.CERT_MANAGER,
    "service-ca": Certificates.OPENSHIFT,
    "none": Certificates.NONE,
}
CHUNK = 12  # bundles in one test: few enough to share the work between processes, and to find what failed

# What differs, by bundle, and why.
DEVIATIONS: dict[str, str] = {}


class Refused(NamedTuple):
    stage: str  # parse or render
    text: str


def all_names() -> list[str]:
    return sorted(path.name.removesuffix(SUFFIX) for path in GOLDENS.glob(f"*{SUFFIX}"))


def chunks() -> list[list[str]]:
    names = all_names()
    return [names[start : start + CHUNK] for start in range(0, len(names), CHUNK)]


@pytest.mark.parametrize("names", chunks(), ids=lambda names: names[0])
def test_every_render_equals_its_golden(names: list[str]) -> None:
    differences = {name: list(differences_of(name)) for name in names}
    assert {name: found for name, found in differences.items() if found and name not in DEVIATIONS} == {}


def test_a_deviation_is_listed_only_as_long_as_there_is_one() -> None:
    assert [name for name in DEVIATIONS if not list(differences_of(name))] == []


def differences_of(name: str) -> Iterator[str]:
    golden = json.loads(gzip.decompress((GOLDENS / f"{name}{SUFFIX}").read_bytes()))
    bundle = bundle_or_error(name)
    for render_of in golden["renders"]:
        yield from difference(bundle, render_of)


def bundle_or_error(name: str) -> RegistryBundle | Refused:
    try:
        return read(open_tree(CORPUS / "bundles" / name), parity=True).complete()
    except ContentError as error:
        return Refused("parse", str(error))


def difference(bundle: RegistryBundle | Refused, golden: Json) -> Iterator[str]:
    where = f"{golden['mode']} with {golden['cert']}"
    result = bundle if isinstance(bundle, Refused) else rendered(bundle, golden)
    if isinstance(result, Refused):
        stage, text = golden.get("stage"), golden.get("error", "no error")
        if golden["ok"] or stage != result.stage or (stage == "render" and text != result.text):
            yield f"{where}: {text!r} is wanted, not {result}"
    elif not golden["ok"]:
        yield f"{where}: {golden['error']!r} is wanted, not {len(result)} objects"
    elif digest(result) != golden["sha256"]:
        yield f"{where}: {'strict' if digest(result, lenient=True) == golden['sha256_lenient'] else 'other'} digest"


def rendered(bundle: RegistryBundle, golden: Json) -> list[Json] | Refused:
    options = RenderOptions(
        install_namespace=golden["install_namespace"],
        watch_namespaces=tuple(golden["targets"] or ()),
        certificates=PROVIDERS[golden["cert"]],
    )
    try:
        return render(bundle, options)
    except ContentError as error:
        return Refused("render", str(error))


def test_every_golden_is_there() -> None:
    assert len(all_names()) == 582
