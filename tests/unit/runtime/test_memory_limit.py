"""How much memory a worker process gets, from what the container has."""

import subprocess
import sys
from pathlib import Path

import pytest

from rukpak_py.core.limits import GIB, MIB
from rukpak_py.runtime.limits import container_memory, git_memory, worker_memory

NONE_IN_V1 = "9223372036854771712"


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (None, 512 * MIB),
        (2 * GIB, 944 * MIB),
        (512 * MIB, 176 * MIB),
        (512 * MIB + 1, 176 * MIB),
        (256 * MIB, 128 * MIB),  # 48 would not do
        (64 * MIB, 128 * MIB),
    ],
)
def test_two_workers_share_what_the_operator_leaves(container: int | None, expected: int) -> None:
    assert worker_memory(2, container) == expected


@pytest.mark.parametrize(("container", "expected"), [(None, GIB), (8 * GIB, GIB), (GIB, 432 * MIB), (MIB, 128 * MIB)])
def test_git_gets_no_more_than_a_worker(container: int | None, expected: int) -> None:
    assert git_memory(GIB, 2, container) == expected


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"memory.max": "536870912\n"}, 512 * MIB),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {}, None),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "1048576\n"}, MIB),
        ("0::/a/b\n", {"a/b/memory.max": "1048576\n", "a/memory.max": "2097152\n"}, MIB),
        ("9:memory:/\n", {"memory/memory.limit_in_bytes": "1048576\n"}, MIB),
        ("9:memory:/\n", {"memory/memory.limit_in_bytes": NONE_IN_V1}, None),
        ("9:memory:/kubepods/x\n", {"memory/memory.limit_in_bytes": "1048576\n"}, MIB),
        ("9:cpu,memory:/x\n2:cpu:/\n", {"memory/x/memory.limit_in_bytes": "1048576\n"}, MIB),
        ("9:cpu:/\n", {"memory/memory.limit_in_bytes": "1048576\n"}, None),
        ("1:name=systemd:/a:b\n0::/a:b\n", {"a:b/memory.max": "1048576"}, MIB),
        (None, {"memory.max": "1048576"}, None),
    ],
)
def test_the_lowest_limit_around_the_process_counts(
    tmp_path: Path, membership: str | None, files: dict[str, str], expected: int | None
) -> None:
    for name, text in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if membership is not None:
        (tmp_path / "membership").write_text(membership)
    assert container_memory(tmp_path / "membership", tmp_path / "cgroup") == expected


FREED = """
import ctypes
import subprocess
import sys
from pathlib import Path
from rukpak_py.runtime.limits import return_large_buffers

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

return_large_buffers()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.free(libc.malloc(8 << 20))  # from here on the C library would keep buffers of that size
before = resident()
small, large = [], []
for _ in range(64):
    large.append(libc.malloc(1 << 20))
    ctypes.memset(large[-1], 1, 1 << 20)
    small.append(libc.malloc(100 << 10))
for one in large:
    libc.free(one)
print(resident() - before)
"""


def test_large_buffers_go_back_to_the_system_when_they_are_free() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, check=True, timeout=60)
    assert int(done.stdout) < 16 * MIB, "of 64 MiB"
