"""Completion of a command line: for shells by click's scripts, for kubectl by a program of its own."""

import os
import subprocess

import pytest

from rukpak_py.cli import main
from tests.unit.cli.running import CommandLine, program


def completed(shell: str, words: str, *, word: str | int) -> list[str]:
    """As click's script asks: fish gives the incomplete word, the others its number."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(word), main.COMPLETE_VARIABLE: f"{shell}_complete"}
    done = subprocess.run([program()], env=os.environ | asked, capture_output=True, text=True, check=True)
    return done.stdout.split()


def for_kubectl(*words: str) -> list[str]:
    command = [program("kubectl_complete-rukpak"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_the_program(rukpakctl: CommandLine, shell: str) -> None:
    ran = rukpakctl("completion", shell)
    assert f"{main.COMPLETE_VARIABLE}={shell}_complete" in ran.out
    assert "rukpakctl" in ran.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_as_plugin_it_says_who_completes_it(rukpakctl: CommandLine, shell: str) -> None:
    ran = rukpakctl("completion", shell, called="/usr/bin/kubectl-rukpak")
    assert f"kubectl completion {shell}" in ran.out
    assert all(line.startswith("#") for line in ran.out.splitlines())  # harmless when it is loaded as a script


def test_commands() -> None:
    assert completed("bash", "rukpakctl bundle v", word=2) == ["plain,validate"]


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ("rukpakctl bundle validate --profile op", 4),
        ("rukpakctl bundle validate --profile = op", 5),  # so bash takes --profile=op apart
        ("rukpakctl bundle validate --format = plain --profile = op", 8),
    ],
)
def test_choices_in_bash(words: str, word: int) -> None:
    assert completed("bash", words, word=word) == ["plain,opm", "plain,operatorhub", "plain,operatorframework"]


def test_all_choices_in_bash_right_behind_the_sign() -> None:
    assert "plain,olmv1" in completed("bash", "rukpakctl bundle validate --profile =", word=4)


@pytest.mark.parametrize(("shell", "word"), [("zsh", 3), ("fish", "--profile=op")])
def test_other_shells_replace_the_option_too(shell: str, word: str | int) -> None:
    found = completed(shell, "rukpakctl bundle validate --profile=op", word=word)
    assert "--profile=operatorhub" in {line.removeprefix("plain,") for line in found}


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["bundle", "v"], ["validate\tCheck bundles: what is wrong, where, and...", ":4"]),
        (["bundle", "validate", "--profile=op"], ["opm", "operatorhub", "operatorframework", ":4"]),
        (["bundle", "validate", "--profile", "op"], ["opm", "operatorhub", "operatorframework", ":4"]),
        (["bundle", "build", "--tool", ""], ["docker", "podman", "buildah", ":4"]),
        (["bundle", "build", "--tool=b"], ["buildah", ":4"]),
        (["bundle", "diff", "--exit"], ["--exit-code\tExit with 1 when there is a difference.", ":4"]),
        (["bundle", "inspect", "docs/"], [":0"]),
        (["bundle", "build", "--output", ""], [":0"]),
        (["version", ""], [":4"]),
    ],
)
def test_kubectl_gets_completions_and_a_directive(words: list[str], lines: list[str]) -> None:
    assert for_kubectl(*words) == lines


@pytest.mark.parametrize("words", [[], [""]])
def test_without_a_word_kubectl_gets_the_commands(words: list[str]) -> None:
    assert [line.partition("\t")[0] for line in for_kubectl(*words)] == [
        "approve",
        "bundle",
        "catalog",
        "check",
        "completion",
        "content",
        "diff",
        "events",
        "get",
        "history",
        "permissions",
        "plan",
        "reconcile",
        "refresh",
        "release",
        "resume",
        "rollback",
        "run",
        "suspend",
        "tree",
        "ui",
        "version",
        "wait",
        "why",
        ":4",
    ]
