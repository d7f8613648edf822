"""How many files the operator may have open."""

import resource
import subprocess
import sys

import pytest

from rukpak_py.core.limits import Limits
from rukpak_py.runtime.limits import HIGHEST, raise_open_files, wanted_limit

UNBOUNDED = resource.RLIM_INFINITY
SCRIPT = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128))
from rukpak_py.operator import main

async def run(*_, **__):
    print(*resource.getrlimit(resource.RLIMIT_NOFILE))

main.run = run
main.main(["--system-namespace=x"])
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted"),
    [
        (1024, 1 << 19, 1 << 19),
        (1024, 1024, 1024),
        (1024, 1 << 30, HIGHEST),
        (1024, UNBOUNDED, HIGHEST),
        (1 << 25, 1 << 30, 1 << 25),
        (UNBOUNDED, UNBOUNDED, UNBOUNDED),
    ],
)
def test_the_soft_limit_becomes_the_hard_one(soft: int, hard: int, wanted: int) -> None:
    assert wanted_limit(soft, hard) == wanted


def test_the_operator_raises_its_limit_before_anything_else() -> None:
    printed = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["128", "128"]


def test_connections_that_would_use_up_all_files_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    raise_open_files(Limits())
    raise_open_files(Limits(server_connections=500))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "1024 files may be open, and the connections that the limits allow need 1512"
    ]
