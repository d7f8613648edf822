"""Bundles of a repository: directories with manifests/ or a chart, and those that a change touches.

A directory of a bundle is not searched any further. Hidden directories are left out. Links are not followed, so a
search ends.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rukpak_py.core.errors import ContentError, UnavailableError

_FILES: Final = ("Chart.yaml", "metadata/annotations.yaml")
MOST_BUNDLES: Final = 100_000
_MOST_NAMED: Final = 3
_NEAR: Final = 3  # levels below a directory that is no bundle
_SECONDS: Final = 60


def is_bundle(directory: Path) -> bool:
    """Whether it has the form of one: what is wrong with it, or missing, is a question for validation."""
    return (directory / "manifests").is_dir() or any((directory / file).is_file() for file in _FILES)


def bundles_below(path: str, *, depth: int | None = None) -> Iterator[str]:
    """The path itself where it is a bundle; else those below it, sorted."""
    if is_bundle(Path(path)):
        yield path
        return
    if depth == 0:
        return
    with os.scandir(path) as entries:
        names = sorted(one.name for one in entries if one.is_dir(follow_symlinks=False) and one.name[0] != ".")
    for name in names:
        yield from bundles_below(os.path.join(path, name), depth=None if depth is None else depth - 1)  # noqa: PTH118 - `.` stays out


def search(paths: Sequence[str]) -> list[str]:
    """All bundles below directories; other paths stay, to be judged, or told as missing, as they are."""
    found: dict[str, None] = {}
    for path in paths:
        if not Path(path).is_dir():
            found[path] = None
            continue
        below = [one.removeprefix("./") for one in bundles_below(path)]
        if not below:
            raise ContentError(
                f"{path}: there is no bundle in it: "
                "no directory with manifests/, metadata/annotations.yaml or Chart.yaml"
            )
        found |= dict.fromkeys(below)
        if len(found) > MOST_BUNDLES:
            raise ContentError(f"{path} has more than {MOST_BUNDLES} bundles")
    return list(found)


def advice(path: str) -> str:
    """A sentence about bundles below a directory that is none; empty where there are none."""
    if not Path(path).is_dir() or is_bundle(Path(path)):
        return ""
    near = list(bundles_below(path, depth=_NEAR))
    if not near:
        return ""
    named = ", ".join(near[:_MOST_NAMED])
    more = f" and {len(near) - _MOST_NAMED} more" if len(near) > _MOST_NAMED else ""
    return f"bundles are below it: {named}{more}; --recursive checks them"


def changed_since(revision: str, bundles: Sequence[str]) -> list[str]:
    """Bundles with a file that differs from the commit where this branch left the revision, also uncommitted ones."""
    if revision.startswith("-"):
        raise ContentError(f"{revision!r} is no revision")
    root = Path(_git("rev-parse", "--show-toplevel").rstrip("\n")).resolve()
    base = _git("merge-base", "HEAD", revision).strip()
    names = _git("diff", "--name-only", "-z", base, "--").split("\0")
    names += _git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/").split("\0")
    changed = {parent for name in names if name for parent in (root / name).parents}
    return [one for one in bundles if Path(one).resolve() in changed]


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - no shell
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"cannot run git: {error}") from error
    if ran.returncode:
        raise ContentError(f"git {arguments[0]}: {ran.stderr.decode(errors='replace').strip() or ran.returncode}")
    return os.fsdecode(ran.stdout)
