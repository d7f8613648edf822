"""Standard output. JSON and YAML are texts for programs that may land on a terminal all the same."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from rukpak_py.cli.terminal import Style, clean, clean_text


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def print_json(document: Any) -> None:
    click.echo(clean_text(json.dumps(document, indent=2, ensure_ascii=False)))


def print_yaml(documents: Iterable[Any]) -> None:
    from rukpak_py.content.yaml_dump import dump_all  # noqa: PLC0415 - only this output needs the writer

    for text in dump_all(documents):
        click.echo(text, nl=False)


def print_list(objects: list[Any]) -> None:
    print_json({"apiVersion": "v1", "kind": "List", "items": objects})


def print_warning(text: str) -> None:
    click.echo(f"{Style(sys.stderr).paint('Warning:', 'yellow', 'bold')} {clean(text)}", err=True)


def warn_of_nothing(objects: Sequence[Any], path: str) -> None:
    """Nothing is printed for it, which looks like a failure."""
    if not objects:
        print_warning(f"{path}: the bundle has no objects")
