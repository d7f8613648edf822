"""The table of threats in SECURITY.md names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_threat_has_a_test() -> None:
    section = (ROOT / "SECURITY.md").read_text().partition("## Threats")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    named = [re.findall(r"`(tests/[^`]+\.py)`", row) for row in rows]
    assert len(rows) > 10
    assert all(named)
    assert [path for row in named for path in row if not (ROOT / path).is_file()] == []
