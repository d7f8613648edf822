"""Cost of rendering over parsing, how many bundles go through a second, and how much memory the largest one takes.

In one process, alternating: all bundles of the corpus opened, read and rendered with default options; PyYAML's
CSafeLoader alone over the files of their manifests/; all bundles validated. Only ratios within one run mean anything.
Memory is the peak of a process that renders (or validates) the bundle, less that of one that does it to a sample of a
few lines, so that only imports are left out. Usage:

    python bench/rendering.py [--rounds N] [DIRECTORY]
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml as pyyaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rukpak_py
from rukpak_py.core.errors import RukPakError

ROOT = Path(__file__).resolve().parents[1]
CORPUS = Path(os.environ.get("RUKPAK_CORPUS", ROOT.parent / "shared" / "corpus"))
MOST_OVER_PARSING = 1.5
MOST_OVER_SIZE = 20
# Not by getrusage, which begins with the peak of the process that started this one.
PEAK = """
import pathlib, re, sys
import rukpak_py
if sys.argv[1] == "render":
    rukpak_py.render(sys.argv[2], watch_namespaces=["watched"])
else:
    rukpak_py.validate(sys.argv[2])
print(re.search(r"VmHWM:\\s+([0-9]+) kB", pathlib.Path("/proc/self/status").read_text())[1])
"""


def render_all(bundles: list[Path]) -> None:
    for path in bundles:
        with contextlib.suppress(RukPakError):  # a fifth is broken on purpose
            rukpak_py.render(path)


def validate_all(bundles: list[Path]) -> None:
    for path in bundles:
        rukpak_py.validate(path)


def parse_all(files: list[bytes]) -> None:
    for data in files:
        with contextlib.suppress(pyyaml.YAMLError, ValueError):
            for _ in pyyaml.load_all(data, Loader=pyyaml.CSafeLoader):
                pass


def seconds(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def peak(work: str, bundle: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, work, str(bundle)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return int(done.stdout) * 1024


def size_of(bundle: Path) -> int:
    return sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())


def compare(bundles: list[Path], rounds: int) -> None:
    paths = [path for bundle in bundles for path in sorted(bundle.glob("manifests/**/*")) if path.is_file()]
    files = [path.read_bytes() for path in paths]
    rendering, parsing, validating = [], [], []
    for _ in range(rounds):
        rendering.append(seconds(lambda: render_all(bundles)))
        parsing.append(seconds(lambda: parse_all(files)))
        validating.append(seconds(lambda: validate_all(bundles)))
    print(f"{len(bundles)} bundles, {len(files)} manifests, {sum(map(len, files)) / 1e6:.1f} MB")
    print(f"rendering : CSafeLoader {min(rendering) / min(parsing):5.2f} (at most {MOST_OVER_PARSING})")
    print(f"validating : CSafeLoader {min(validating) / min(parsing):4.2f}")
    print(f"rendered a second {len(bundles) / min(rendering):6.0f}")
    print(f"validated a second {len(bundles) / min(validating):5.0f}")


def measure_memory(bundle: Path, small: Path) -> None:
    size = size_of(bundle)
    print(f"largest bundle: {bundle.name}, {size / 1e6:.2f} MB")
    for work in ("render", "validate"):
        more = peak(work, bundle) - peak(work, small)
        print(f"peak memory to {work} it : size {more / size:5.1f} (at most {MOST_OVER_SIZE}; {more / 1e6:.1f} MB)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path, default=CORPUS / "bundles")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    bundles = sorted(path for path in options.directory.glob("*") if path.is_dir())
    if not bundles:
        print(f"skipped: no bundles in {options.directory}; RUKPAK_CORPUS names a corpus")
        return
    compare(bundles, options.rounds)
    measure_memory(max(bundles, key=size_of), ROOT / "docs" / "samples" / "greeter-v1")


if __name__ == "__main__":
    main()
