"""The real helm for tests: the one that e2e.cluster builds from its Go module, once, and keeps."""

import shutil

import pytest

from e2e.cluster import binaries
from rukpak_py.formats.helm.process import HelmProgram


@pytest.fixture(scope="session")
def helm() -> HelmProgram:
    if shutil.which("go") is None:
        pytest.skip("helm is built with Go, which is not on PATH")
    return HelmProgram.find(str(binaries.path("helm")))
