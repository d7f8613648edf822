"""Nothing but `conclude` and `record` makes the conditions of a status; a BundleInstance copies them."""

import ast
from pathlib import Path

import rukpak_py

CONTROLLERS = Path(rukpak_py.__file__).parent / "controllers"
CONDITION_MAKERS = frozenset({"set_condition", "summarise", "complete", "Condition"})
MAKERS = {
    "result/conditions.py",  # of `conclude`
    "result/changes.py",  # of a step that is recorded before it is taken
}
WRITERS = {
    "bundle/reconcile.py",
    "deployment/status_writer.py",  # for deployments, of which steps are recorded, too
    "instance/reconcile.py",
}
CONCLUDING = {"bundle/reconcile.py", "deployment/reporting.py", "instance/reconcile.py"}


def modules_that_import(*names: str) -> set[str]:
    found = set[str]()
    for path in CONTROLLERS.rglob("*.py"):
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        if any(alias.name in names for node in imports for alias in node.names):
            found.add(path.relative_to(CONTROLLERS).as_posix())
    return found


def test_only_the_listed_modules_make_conditions() -> None:
    assert modules_that_import(*CONDITION_MAKERS) == MAKERS


def test_only_the_listed_modules_write_a_status() -> None:
    assert modules_that_import("StatusWriter") == WRITERS


def test_only_the_listed_modules_conclude() -> None:
    assert modules_that_import("conclude") == CONCLUDING
