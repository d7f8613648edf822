"""Cost of the command line from cold: processor time, user and system, of one process for one small bundle.

Each measure is a new process; the least of them is what the program needs, the median what a user sees here. An
interpreter that does nothing shows how much of it is Python's own. Usage:

    python bench/cli_start.py [--rounds N] [BUNDLE]
"""

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "docs" / "samples" / "greeter-v1"
MOST = 0.35
PROGRAM = Path(sys.executable).parent / "rukpakctl"


def seconds(command: list[str]) -> float:
    before = children()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return children() - before


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        **{
            f"rukpakctl bundle {verb}": [str(PROGRAM), "bundle", verb, str(options.bundle)]
            for verb in ("validate", "render", "inspect")
        },
    }
    print(f"at most {MOST} s for each")
    for name, command in commands.items():
        seconds(command)  # compiles what has changed
        taken = [seconds(command) for _ in range(options.rounds)]
        print(f"{name}: least {min(taken):.3f} s, median {statistics.median(taken):.3f} s")


if __name__ == "__main__":
    main()
