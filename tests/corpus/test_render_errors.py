"""Refused bundles of the corpus: our joined texts are the renderer's, for every check that precedes rendering."""

import gzip
import json

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.rules import demand_renderable
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Locator
from rukpak_py.formats.validation import validate
from tests.corpus.place import CORPUS, needs_corpus

pytestmark = needs_corpus
# What the generators and the options refuse later; the renderer's tests compare these.
LATER = ("invalid option(s): ", "custom resource definition '")


def texts() -> dict[str, str]:
    """Errors of the checks for each bundle that can be read; empty where they find nothing."""
    found = {}
    for path in sorted((CORPUS / "goldens").glob("*.suc.json.gz")):
        with gzip.open(path) as file:
            golden = json.load(file)
        first = golden["renders"][0]
        if first["ok"] or first["stage"] == "render":
            text = first.get("error", "")
            found[golden["name"]] = "" if text.startswith(LATER) else text
    return found


def tree_of(name: str) -> Tree:
    root = CORPUS / "bundles" / name
    builder = TreeBuilder()
    for path in sorted(root.rglob("*")):
        if path.is_file():
            builder.add(path.relative_to(root).as_posix(), path.read_bytes())
    return builder.build()


def refusal(tree: Tree) -> str:
    bundle = read(tree, parity=True, limits=DEFAULT_LIMITS).complete()
    try:
        demand_renderable(InstallRequest(bundle=bundle), Locator(tree))
    except InvalidBundleError as error:
        return str(error)
    return ""


def test_every_refusal_has_the_same_text() -> None:
    expected = texts()
    assert {name: refusal(tree_of(name)) for name in expected} == expected
    assert sum(1 for text in expected.values() if text) > 20  # else nothing was compared


def test_every_refusal_says_where_and_what_to_do() -> None:
    for name, text in texts().items():
        messages = set(text.splitlines())
        findings = validate(tree_of(name)) if messages else []
        told = {finding.message for finding in findings}
        if any(finding.rule == "RV1-907" for finding in findings):  # there are no annotations, so no package either
            told.add("package name is empty")
        missing = {message for message in messages - told if "name 'trailing-'" not in message}
        assert not missing, f"{name}: {missing}"
        assert all(finding.hint and finding.file for finding in findings if finding.message in messages), name
