"""What this machine lets us do."""

import os
import platform


def is_root_on_linux() -> bool:
    return platform.system() == "Linux" and os.geteuid() == 0
