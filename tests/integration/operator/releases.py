"""Former operators: the code of a commit of this repository, run from a folder of its own with today's libraries."""

import subprocess
import tarfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest

from tests.integration.operator.counting import Calls

ROOT = Path(__file__).parents[3]
READING = frozenset({"get", "list", "watch"})


def code_of(commit: str, folder: Path) -> Path:
    """The folder, with the commit's code and its CRDs. Skips the test where the clone does not have the commit."""
    command = ["git", "-C", str(ROOT), "archive", commit, "rukpak_py", "config/crds"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("git, which has the code of former operators, is not installed")
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip()
        pytest.skip(f"the code of {commit[:12]} is not in the history of this clone: {reason}")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def writes(sent: Calls) -> Calls:
    """The writes, dry-runs included."""
    return Counter({call: count for call, count in sent.items() if call[0] not in READING})
