"""The real helm for tests: the one that e2e.cluster builds from its Go module, once, and keeps."""

import pytest

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from rukpak_py.formats.helm.program import HelmProgram


@pytest.fixture(scope="session")
def helm() -> HelmProgram:
    try:
        return HelmProgram.find(str(binaries.path("helm")))
    except ClusterError as error:  # no Go on this machine
        pytest.skip(f"there is no helm: {error}")
