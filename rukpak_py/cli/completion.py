"""Words that complete a command line, for shells and for kubectl.

Shells ask rukpakctl itself, through click's scripts. Of `--option=value` each shell takes something else for the word:
bash splits it at `=`, and completes what is behind; zsh and fish replace all of it.

kubectl asks `kubectl_complete-rukpak`, found on the PATH: it gives it the words behind `kubectl rukpak`, the last one
incomplete, and reads a completion per line, with a tab before its description, and as last line one of cobra's
directives. It splits `--option=value` itself and expects the value alone.
"""

import sys
from collections.abc import Sequence

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from rukpak_py.cli.main import KUBECTL_NAME, program
from rukpak_py.cli.terminal import clean

# CompletionItem is quoted in annotations: before click 8.2 it is not generic.
_COMPLETE_FILES = ":0"
_NO_FILES = ":4"
_WITH_FILES = {"file", "dir"}


class _Bash(BashComplete):
    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = super().get_completion_args()
        return [word for word in words if word != "="], incomplete


class _Zsh(ZshComplete):
    def get_completions(self, args: list[str], incomplete: str) -> list["CompletionItem[str]"]:
        return _with_option(super().get_completions(args, incomplete), incomplete)


class _Fish(FishComplete):
    def get_completions(self, args: list[str], incomplete: str) -> list["CompletionItem[str]"]:
        return _with_option(super().get_completions(args, incomplete), incomplete)


def _with_option(found: list["CompletionItem[str]"], incomplete: str) -> list["CompletionItem[str]"]:
    name, equals, _ = incomplete.partition("=")
    if equals and name.startswith("-"):
        for item in found:
            item.value = f"{name}={item.value}"
    return found


def register() -> None:
    for shell in (_Bash, _Zsh, _Fish):
        add_completion_class(shell)


def lines_for_kubectl(words: Sequence[str]) -> list[str]:
    *complete, incomplete = words or [""]
    found = ShellComplete(program, {}, KUBECTL_NAME, "").get_completions(complete, incomplete)
    lines = [
        f"{item.value}\t{clean(item.help)}" if item.help else str(item.value)
        for item in found
        if item.type not in _WITH_FILES
    ]
    return [*lines, _COMPLETE_FILES if any(item.type in _WITH_FILES for item in found) else _NO_FILES]


def main() -> None:
    """`kubectl_complete-rukpak`."""
    click.echo("\n".join(lines_for_kubectl(sys.argv[1:])))
