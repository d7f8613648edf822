"""The pages that need no cluster, run: every command of a page prints what the page shows, 100 columns wide."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from e2e import sessions
from rukpak_py.cli import main
from rukpak_py.formats.helm.process import VARIABLE, HelmProgram
from tests.unit.cli.running import ROOT, program
from tests.unit.cli.test_program import every_command

PAGES = [
    *(ROOT / "docs" / name for name in ("cli.md", "catalogs.md", "making-a-catalog.md", "plain-manifests.md")),
    *sorted((ROOT / "docs/cli").glob("*.md")),
]

CATALOG_PAGES = ("cli/catalog", "cli/catalog-make", "cli/catalog-ask", "catalogs")
ON_PAGE_OF_CLUSTERS = ("install", "outdated")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_show_what_is_printed(page: Path, helm: HelmProgram, tmp_path: Path) -> None:
    path = f"{Path(program()).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "100", "TMPDIR": str(tmp_path), VARIABLE: helm.path}
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
    for name in (
        "check",
        "run",
        "content",
        "plan",
        "approve",
        "history",
        "rollback",
        "release",
        "get",
        "tree",
        "why",
        "ui",
    ):
        assert f"rukpakctl {name}`](cli/{name}.md)" in overview
    together = (ROOT / "docs/cli/operate.md").read_text(encoding="utf-8")
    for name in ("wait", "events", "suspend", "resume", "reconcile", "refresh"):
        assert f"\n## {name}\n" in together
        assert f"`{name}`" in overview


def commands_of(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    """All commands that do something themselves, groups in groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, *path, name)
        else:
            yield (*path, name)


def test_every_catalog_command_is_shown() -> None:
    """A page has its help, or is about clusters; the overview names it."""
    pages = {name: (ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in CATALOG_PAGES}
    overview = pages["cli/catalog"].partition("## ")[0]
    catalog = main.program.get_command(click.Context(main.program), "catalog")
    assert isinstance(catalog, click.Group)
    commands = list(commands_of(catalog))
    assert ("query", "path") in commands
    for path in commands:
        command = f"rukpakctl catalog {' '.join(path)}"
        assert any(f"$ {command} --help\n" in page for page in pages.values()) or path[0] in ON_PAGE_OF_CLUSTERS
        assert path[-1] in re.sub(r"[`,]", " ", overview).split(), command
    for name in ON_PAGE_OF_CLUSTERS:
        assert f"rukpakctl catalog {name} " in pages["catalogs"]


def test_picture_of_the_sample_catalog_is_current() -> None:
    """`rukpakctl catalog graph docs/samples/catalog -o svg > docs/samples/catalog.svg` makes it anew."""
    printed = subprocess.run(
        [program(), "catalog", "graph", "docs/samples/catalog", "-o", "svg"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == (ROOT / "docs/samples/catalog.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_the_pages_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}
