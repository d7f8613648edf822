"""The operator, started as `python -m` of this module: it bears for seconds what it would bear for a minute."""

from rukpak_py.operator.main import main
from rukpak_py.runtime.watchdog import WatchdogLimits

REFUSED_SECONDS = 5.0

if __name__ == "__main__":
    main(limits=WatchdogLimits(refused_seconds=REFUSED_SECONDS))
