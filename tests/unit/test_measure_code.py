"""Figures of `python -m tools.measure_code`, on a tiny tree."""

import json
from pathlib import Path

import pytest

from tools import measure_code

ENGINE = '''\
"""One line.

Another one.
"""

import os  # a comment beside code
from rukpak_py import core, kube
from rukpak_py.kube.client import (
    Client,
)

# a comment alone
TEXT = """

in code, with a blank line before it
"""


class Engine:
    def __init__(self, client: Client, *, width: int = 3) -> None:
        """What it needs."""
        self._client = client
        self.seen: set[str] = set()
        self._lanes = width
        self._close()

    def forget(self) -> "tuple[FetchResult, ...] | None":
        return self._close() or _once(os)

    def drop_all(self) -> list["CoreReport"]: ...

    async def end(self) -> Unknown[NoneResult]: ...

    def ending(self) -> int: ...

    def _close(self) -> None:
        self._close()


class Other:
    def _close(self) -> None: ...

    def gone(self) -> None:
        self._close()


def _once(value):
    return _once, core, kube
'''
FILES = {
    "rukpak_py/__init__.py": "",
    "rukpak_py/apply/engine.py": ENGINE,
    "rukpak_py/apply/types.py": "class FetchResult: ...\nclass NeverOutcome: ...\n",
    "rukpak_py/core/reports.py": """\
class CoreReport: ...

def report() -> 'OtherReport': ...
class OtherReport: "A docstring beside code."
""",
    "tests/test_a.py": "import pytest\n\n\ndef test_a():\n    assert pytest\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_lines_of_code_of_text_and_without_either_are_counted_apart(root: Path) -> None:
    (engine,) = (one for one in measure_code.sources(root, "rukpak_py") if one.path.endswith("engine.py"))
    lines = measure_code.lines_of(engine)
    assert (lines.code, lines.text, lines.blank) == (28, 6, 14)
    assert lines.all == len(ENGINE.splitlines())


def test_a_docstring_beside_code_is_on_a_line_of_code(root: Path) -> None:
    (reports,) = (one for one in measure_code.sources(root, "rukpak_py") if one.path.endswith("reports.py"))
    assert measure_code.lines_of(reports) == measure_code.Lines(code=3, text=0, blank=1)


def test_files_functions_and_imports(root: Path) -> None:
    product = measure_code.measure(measure_code.sources(root, "rukpak_py"))
    assert (product.files, product.short_files) == (3, 2), "an empty file is none"
    assert (product.import_lines, product.import_percent) == (5, 9.3)
    assert (product.file_lines_median, product.file_lines_p90) == (4, 48)
    assert (product.functions, product.function_lines_median, product.function_lines_p90) == (10, 1, 2)


def test_private_functions_with_one_caller(root: Path) -> None:
    """A call of itself is none, and a method of another class is another one."""
    product = measure_code.measure(measure_code.sources(root, "rukpak_py"))
    assert (product.private_functions, product.private_with_one_caller) == (3, 2)
    assert product.private_with_one_caller_percent == 66.7


def test_collaborators_and_methods_that_forget(root: Path) -> None:
    product = measure_code.measure(measure_code.sources(root, "rukpak_py"))
    assert product.most_collaborators == 4, "client, width, seen and lanes"
    assert product.class_with_most_collaborators == "Engine (rukpak_py/apply/engine.py)"
    assert product.forgetting_methods == 4


def test_result_types_and_edges_between_rooms(root: Path) -> None:
    found = measure_code.shape(measure_code.sources(root, "rukpak_py"))
    assert found.result_types == ["CoreReport", "FetchResult"]
    assert found.room_edges == {"apply -> core": 1, "apply -> kube": 2}


def test_measures_are_printed_as_a_table_or_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure_code.main([str(root)])
    table = capsys.readouterr().out
    assert ["files", "3", "1"] in [line.split() for line in table.splitlines()]
    measure_code.main([str(root), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["tests"]["files"] == 1
    assert document["product"]["room_edges"] == {"apply -> core": 1, "apply -> kube": 2}
    measure_code.main([str(root)])
    assert capsys.readouterr().out == table


def test_a_folder_without_the_product_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="name the root of a checkout"):
        measure_code.main([str(tmp_path)])
