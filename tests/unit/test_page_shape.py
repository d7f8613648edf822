"""The shape of the pages for users: short tables, and a README that stays one screen of each thing."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README_LINES = 120
CELL_CHARACTERS = 300  # more is a paragraph, and stands below the table
# Generated from the texts of findings, and a page for developers.
OTHERS = {"docs/rules.md", "docs/architecture.md"}
PAGES = [
    path
    for path in sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md"), *ROOT.glob("charts/*/README.md")])
    if str(path.relative_to(ROOT)) not in OTHERS
]


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_cells_of_tables_are_short(page: Path) -> None:
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [re.sub(r"\]\([^)]*\)", "]", cell) for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    assert [cell for cell in cells if len(cell) > CELL_CHARACTERS] == []
