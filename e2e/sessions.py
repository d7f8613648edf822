"""Console sessions of the documents: what a page says that one types and sees, run and compared.

A block marked `console` has commands after `$ ` (one with `<<EOF` goes on to the line `EOF`), each followed by what it
prints, errors included. Compared without regard to the width of columns. Ages, random suffixes of pods and times may
differ; `...` stands for what was left out: on a line of its own for any number of lines, else for any text.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROMPT = "$ "
LEFT_OUT = "..."
SECONDS = 180
# What differs from run to run, as a pattern that stands for itself.
VOLATILE = (
    r"\b\d+[smhd](?:\d+[smhd])?(?: \(x\d+ over \d+[smhd](?:\d+s)?\))?(?=\s|$)",  # ages, in events with a count
    r"(?<=-)[bcdf0-9]{8,10}-[bcdf-hj-np-tv-z0-9]{5}\b",  # a pod of a Deployment
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
)


@dataclass(frozen=True, kw_only=True)
class Step:
    command: str
    output: str


def steps(page: str) -> list[Step]:
    """All commands of a page, in order."""
    blocks = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [step for block in blocks for step in _steps_of_block(block)]


def run(command: str, *, folder: Path, environment: Mapping[str, str]) -> str:
    """The output that a terminal shows, whether the command succeeds or not."""
    shell = ["bash", "-c", command]
    done = subprocess.run(
        shell,
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.stdout


def agree(shown: str, printed: str) -> bool:
    """Whether a page may say `shown` of a command that printed `printed`."""
    pattern = "".join(_pattern_of_line(line) for line in _squeezed(shown))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _squeezed(printed))) is not None


def _steps_of_block(block: str) -> list[Step]:
    found: list[Step] = []
    command: list[str] = []
    output: list[str] = []
    for line in block.splitlines():
        if command and "<<EOF" in command[0] and command[-1] != "EOF":
            command.append(line)
        elif line.startswith(PROMPT):
            if command:
                found.append(Step(command="\n".join(command), output="\n".join(output)))
            command, output = [line.removeprefix(PROMPT)], []
        else:
            output.append(line)
    if command:
        found.append(Step(command="\n".join(command), output="\n".join(output)))
    return found


def _squeezed(text: str) -> list[str]:
    """Its lines, each volatile part replaced by one sign, white space by one blank; empty lines do not count."""
    for pattern in VOLATILE:
        text = re.sub(pattern, "~", text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line]


def _pattern_of_line(line: str) -> str:
    if line == LEFT_OUT:
        return r"(?:.*\n)*?"
    return r"[^\n]*?".join(re.escape(part) for part in line.split(LEFT_OUT)) + r"\n"
