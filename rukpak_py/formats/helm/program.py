"""Which helm renders charts: where it is, and whether it is one that we know.

`RUKPAK_HELM` names it, or an option does; else it is `helm` on PATH. Asked for its version once for each binary.
"""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import MIB
from rukpak_py.formats.helm.api_server import Answer
from rukpak_py.formats.helm.process import Bounds, Ended, Pipe, run

VARIABLE: Final = "RUKPAK_HELM"
OLDEST: Final = (3, 16)  # of which `--skip-schema-validation` is
NEWEST: Final = 4  # not any more: its command line is another one
_VERSION = re.compile(r"v(\d{1,6})\.(\d{1,6})\.")
_ASKING: Final = Bounds(memory=256 * MIB, seconds=20, output=64 * 1024)
_WANTED: Final = f"helm {OLDEST[0]}.{OLDEST[1]} or newer, below {NEWEST}"
_ADVICE: Final = f"Install {_WANTED}, or set {VARIABLE} to the path of one"


@dataclass(frozen=True, kw_only=True, slots=True)
class HelmProgram:
    path: str

    @classmethod
    def find(cls, path: str | None = None) -> Self:
        """UnavailableError when there is none, or one of a version that we do not know."""
        named = path or os.environ.get(VARIABLE) or "helm"
        found = shutil.which(named)
        if found is None:
            missing = f"there is no program {named!r}" if "/" in named else f"{named!r} is not on PATH"
            raise UnavailableError(f"charts are rendered by helm, and {missing}. {_ADVICE}")
        program = Path(found).resolve()
        status = program.stat()
        _demand_known(str(program), status.st_mtime_ns, status.st_size)
        return cls(path=str(program))

    def run(
        self,
        arguments: Sequence[str],
        *,
        bounds: Bounds,
        stdin: int,
        files: Sequence[int],
        taken: Pipe | None = None,
        answer: Answer | None = None,
    ) -> Ended:
        return run([self.path, *arguments], bounds=bounds, stdin=stdin, files=files, taken=taken, answer=answer)


@lru_cache
def _demand_known(path: str, _modified: int, _size: int) -> None:
    ended = run([path, "version", "--template={{.Version}}"], bounds=_ASKING)
    said = ended.output.decode(errors="replace").strip()
    found = _VERSION.match(said)
    if ended.code != 0 or found is None:
        raise UnavailableError(f"{path} does not say which version of helm it is. {_ADVICE}")
    version = int(found[1]), int(found[2])
    if not OLDEST <= version < (NEWEST, 0):
        raise UnavailableError(f"{path} is helm {said[:50]}. {_ADVICE}")
