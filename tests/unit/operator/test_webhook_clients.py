"""The file with the authority of the webhook's clients: checked at the start, and read again."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rukpak_py.core import x509
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.operator.webhook_server import ClientAuthorityFile

AUTHORITY = x509.issue_ca(datetime.now(UTC)).certificate


async def test_a_file_is_read_again_each_time(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(AUTHORITY)
    file = ClientAuthorityFile(path)
    assert file.first() == AUTHORITY
    assert await file.read() == AUTHORITY
    path.write_bytes(b"other")
    assert await file.read() == b"other"
    path.unlink()
    with pytest.raises(UnavailableError, match=r"--webhook-client-ca: .*ca\.crt: No such file or directory"):
        await file.read()


async def test_without_a_file_no_certificate_is_asked_for() -> None:
    file = ClientAuthorityFile(None)
    assert (file.first(), await file.read()) == (b"", b"")


@pytest.mark.parametrize("content", [b"", b"not a certificate", b"\xff", None])
def test_a_file_without_a_certificate_stops_the_start(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ca.crt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RukPakError, match="--webhook-client-ca: "):
        ClientAuthorityFile(path).first()
