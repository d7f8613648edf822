"""Whatever is done to a bundle, it is judged and rendered or refused: Findings and ContentErrors, never a traceback.

`RUKPAK_FUZZ=20000` sets the number of cases, `RUKPAK_FUZZ_SEED=n` the seed of the first one: a case that failed names
its own, and `RUKPAK_FUZZ=1 RUKPAK_FUZZ_SEED=<it>` replays it alone.
"""

import json
import os
from functools import cache
from pathlib import Path

import pytest

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.detection import FormatName, detect_format
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.bundle import InstallMode
from rukpak_py.library import OpenedBundle
from tests.corpus.mutations import Files, mutate
from tests.corpus.place import BUNDLES, needs_corpus

pytestmark = needs_corpus

CASES = int(os.environ.get("RUKPAK_FUZZ", "1000"))
FIRST = int(os.environ.get("RUKPAK_FUZZ_SEED", "1"))
CHUNK = 125  # cases in one test: the work is shared between processes
SMALL = 20_000  # bytes; larger bundles take longer and hold nothing else
NAMESPACE = "operators"
TARGETS = {
    InstallMode.ALL: ("",),
    InstallMode.OWN: (NAMESPACE,),
    InstallMode.SINGLE: ("a",),
    InstallMode.MULTI: ("a", "b"),
}


@pytest.mark.parametrize("first", range(FIRST, FIRST + CASES, CHUNK))
def test_every_damaged_bundle_is_judged_and_rendered_or_refused(first: int) -> None:
    for seed in range(first, min(first + CHUNK, FIRST + CASES)):
        files = dict(small_bundles()[seed % len(small_bundles())])
        done = mutate(files, seed)
        try:
            check(tree_of(files))
        except BaseException as error:
            error.add_note(f"RUKPAK_FUZZ=1 RUKPAK_FUZZ_SEED={seed} replays this: {'; '.join(done)}")
            raise


def check(tree: Tree) -> None:
    for name in dict.fromkeys((FormatName.REGISTRY, detect_format(tree))):
        bundle = opened(tree, name)
        findings = bundle.findings()
        check_findings(findings)
        refusal = refusal_of(bundle)
        if refusal is not None:
            assert any(finding.is_error for finding in findings), f"validate finds nothing, but render says: {refusal}"
            assert names_a_file(refusal, tree), refusal
    assert refusal_of(opened(tree, FormatName.REGISTRY, parity=True)) != ""


def opened(tree: Tree, name: FormatName = FormatName.REGISTRY, *, parity: bool = False) -> OpenedBundle:
    return OpenedBundle(tree=tree, format=name, parity=parity, limits=DEFAULT_LIMITS)


def refusal_of(bundle: OpenedBundle) -> str | None:
    """Why it cannot be rendered; None when it can, and what comes out can be written."""
    try:
        objects = bundle.render(options_for(bundle)).objects
    except ContentError as error:
        return str(error)
    assert json.loads(json.dumps(objects)) == objects
    "".join(dump_all(objects)).encode()
    assert all(isinstance(obj.get("kind"), str) for obj in objects)
    return None


def check_findings(findings: list[Finding]) -> None:
    for finding in findings:
        assert finding.rule
        assert finding.message
        assert finding.hint, finding
        assert finding.file, finding


def options_for(bundle: OpenedBundle) -> RenderOptions:
    """Namespaces that the bundle supports: what is refused then is the bundle's fault."""
    targets: tuple[str, ...] | None = None
    if bundle.format is FormatName.REGISTRY:
        modes = bundle.bundle.csv.supported_modes
        targets = next((targets for mode, targets in TARGETS.items() if mode in modes), None)
    return RenderOptions(install_namespace=NAMESPACE, watch_namespaces=targets)


def names_a_file(text: str, tree: Tree) -> bool:
    return any(
        path in text for path in (*tree, *tree.directories, "manifests", "metadata/annotations.yaml", "Chart.yaml")
    )


@cache
def small_bundles() -> list[Files]:
    """Those that can be rendered: what is broken already hides what is done to it."""
    found = [_files(path) for path in sorted(BUNDLES.iterdir())]
    small = [files for files in found if sum(map(len, files.values())) < SMALL]
    return [files for files in small if refusal_of(opened(tree_of(files))) is None]


def _files(bundle: Path) -> Files:
    return {path.relative_to(bundle).as_posix(): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}


def tree_of(files: Files) -> Tree:
    builder = TreeBuilder()
    for path, content in files.items():
        builder.add(path, content)
    return builder.build()
