"""How much faster the Kubernetes YAML loader is than PyYAML's CSafeLoader, over the bundles of the corpus.

Both load the same files in the same process, alternating, so only the ratio means anything. Usage:

    python bench/yaml_loading.py [--rounds N] [DIRECTORY]
"""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml as pyyaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rukpak_py.content import yaml
from rukpak_py.core.errors import RukPakError

CORPUS = Path(os.environ.get("RUKPAK_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))


def safe_load(data: bytes) -> None:
    for _ in pyyaml.load_all(data, Loader=pyyaml.CSafeLoader):
        pass


def seconds(load: Callable[[bytes], object], files: list[bytes]) -> float:
    start = time.process_time()
    for data in files:
        # a few files are broken on purpose; both loaders meet them
        with contextlib.suppress(RukPakError, pyyaml.YAMLError, ValueError):
            load(data)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path, default=CORPUS / "bundles")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    paths = sorted(p for p in options.directory.rglob("*") if p.suffix in {".yaml", ".yml", ".json"})
    if not paths:
        print(f"skipped: no bundles in {options.directory}; RUKPAK_CORPUS names a corpus")
        return
    files = [path.read_bytes() for path in paths]
    megabytes = sum(map(len, files)) / 1e6
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(seconds(yaml.load_all, files))
        theirs.append(seconds(safe_load, files))
    print(f"{len(files)} files, {megabytes:.1f} MB")
    print(f"CSafeLoader {megabytes / min(theirs):6.1f} MB/s")
    print(f"content.yaml {megabytes / min(ours):6.1f} MB/s")
    print(f"ratio {min(theirs) / min(ours):.2f}")


if __name__ == "__main__":
    main()
