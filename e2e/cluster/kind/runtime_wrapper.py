"""`runtime_wrapper.py RUNC ARGUMENT...`: runc for root without CAP_SYS_RESOURCE.

Removes that capability from what a container or a process in it is to be given, and goes on as runc. Needs the standard
library only.
"""

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

CAPABILITY = "CAP_SYS_RESOURCE"


def main() -> None:
    runc, *arguments = sys.argv[1:]
    for option, value in pairwise(arguments):
        match option:
            case "--bundle" | "-b":
                _reduce(Path(value, "config.json"))
            case "--process" | "-p":
                _reduce(Path(value))
    os.execv(runc, [runc, *arguments])  # noqa: S606 - with the arguments that dockerd gave


def _reduce(file: Path) -> None:
    document = json.loads(file.read_text())
    process = document.get("process", document)
    for granted in (process.get("capabilities") or {}).values():
        if CAPABILITY in (granted or []):
            granted.remove(CAPABILITY)
    file.write_text(json.dumps(document))


if __name__ == "__main__":
    main()
