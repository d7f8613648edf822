"""The program `rukpak-operator`. Where the packages of the extra `operator` are missing it names them and ends."""

import sys
from importlib.util import find_spec

EXTRA_PACKAGES = ("kopf", "kubernetes", "uvloop")  # of the extra `operator` in pyproject.toml


def main() -> None:
    missing = [name for name in EXTRA_PACKAGES if find_spec(name) is None]
    if missing:
        print(  # noqa: T201 - the logs are not set up without them
            f"error: rukpak-operator needs {', '.join(missing)}: pip install 'rukpak-py[operator]'", file=sys.stderr
        )
        sys.exit(1)
    from rukpak_py.operator import main as operator  # noqa: PLC0415 - it imports them

    operator.main()
