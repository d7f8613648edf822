from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster.pki import Authority
from tests.integration.webhook_operator.program import CertificateDirectory, Program, running, serving_pair


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create("webhooks of a test")


@pytest.fixture(scope="module")
def program(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """One for tests that only ask."""
    directory = CertificateDirectory(tmp_path_factory.mktemp("operator") / "certificates")
    pair = serving_pair(authority)
    directory.publish(pair.certificate, pair.key)
    with running(directory.path, authority) as program:
        program.until_ready()
        yield program


@pytest.fixture
def directory(tmp_path: Path) -> CertificateDirectory:
    return CertificateDirectory(tmp_path / "certificates")
