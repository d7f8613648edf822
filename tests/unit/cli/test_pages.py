"""The pages about the command line, run: every command of a page prints what the page shows, 100 columns wide."""

import os
import re
from pathlib import Path

import pytest

from e2e import sessions
from rukpak_py.cli import main
from rukpak_py.formats.helm.process import VARIABLE, HelmProgram
from tests.unit.cli.running import ROOT, program
from tests.unit.cli.test_program import every_command

PAGES = [ROOT / "docs/cli.md", ROOT / "docs/catalogs.md", *sorted((ROOT / "docs/cli").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_show_what_is_printed(page: Path, helm: HelmProgram) -> None:
    path = f"{Path(program()).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "100", VARIABLE: helm.path}
    steps = sessions.steps(page.read_text(encoding="utf-8"))
    assert steps
    wrong = []
    for step in steps:
        printed = sessions.run(step.command, folder=ROOT, environment=environment)
        if not sessions.agree(step.output, printed):
            wrong.append(f"$ {step.command}\n--- the page\n{step.output}\n--- the command\n{printed}")
    assert not wrong, "\n\n".join(wrong)


def test_every_command_has_a_page() -> None:
    overview = PAGES[0].read_text(encoding="utf-8")
    for path in every_command(main.program):
        if path[:1] == ("bundle",) and len(path) == 2:
            assert f"rukpakctl bundle {path[1]}`](cli/{path[1]}.md)" in overview
            assert (ROOT / f"docs/cli/{path[1]}.md").exists()
    for name in ("check", "run", "content", "plan", "approve", "history", "rollback", "release"):
        assert f"rukpakctl {name}`](cli/{name}.md)" in overview


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_the_pages_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}
