"""The image of the webhook operator: the static program and nothing else.

Its tag is a hash of what is in it, so a node that has the name has the image, and a changed program is a new name.
The program is built once and kept, as those of the cluster are; the archive is then made in no time.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.image_archive import Image, write_image

PROGRAM = "webhook-operator"
REPOSITORY = f"localhost/rukpak-py/{PROGRAM}"
ENTRYPOINT = f"/{PROGRAM}"
USER = "65532:65532"
ARCHIVE = Path(__file__).resolve().parents[2] / f"build/{PROGRAM}.tar"


def name() -> str:
    return _image().name


def write(target: Path) -> Path:
    """A docker-archive, for `python -m e2e.cluster load-image`."""
    return write_image(_image(), target)


def _image() -> Image:
    program = binaries.path(PROGRAM).read_bytes()
    key = hashlib.sha256(f"{ENTRYPOINT} {USER} {hashlib.sha256(program).hexdigest()}".encode()).hexdigest()
    tag = f"{REPOSITORY}:{key[:12]}"
    return Image(name=tag, files={ENTRYPOINT: program}, entrypoint=[ENTRYPOINT], user=USER)


def main() -> None:
    ARCHIVE.parent.mkdir(exist_ok=True)
    print(f"{name()} is in {write(ARCHIVE)}")


if __name__ == "__main__":
    main()
