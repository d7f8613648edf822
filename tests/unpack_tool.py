"""An image with nothing but a static busybox, for the init container of unpack pods on the shared cluster's node."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.cluster.files import locked
from e2e.cluster.image_archive import Image, write_image

NAME = "localhost/rukpak-test/tool:1"
_INTERPRETER = b"/ld-linux"  # the name of what a dynamic program needs


def busybox() -> bytes:
    """The machine's own."""
    found = shutil.which("busybox")
    program = Path(found).read_bytes() if found else b""
    if not program or _INTERPRETER in program:
        pytest.skip("no static busybox here (Debian package busybox-static; make test installs it as root)")
    return program


@pytest.fixture
def unpack_tool(node: None, run_directory: Path, kubeconfig: Path) -> str:
    """Its name, when the node has it."""
    del node  # there is one
    archive = run_directory / "unpack-tool.tar"
    with locked(run_directory / "unpack-tool.lock"):
        if not archive.exists():
            image = Image(name=NAME, files={"/bin/busybox": busybox()})
            load_image(write_image(image, archive), kubeconfig)
    return NAME


def load_image(archive: Path, kubeconfig: Path) -> None:
    """Into the node."""
    command = [sys.executable, "-m", "e2e.cluster", "load-image", str(archive), f"--state={kubeconfig.parent}"]
    subprocess.run(command, check=True, capture_output=True)
