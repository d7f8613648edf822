"""Kernel settings that a cluster changes on the machine, directly or through kubelet, kube-proxy and engines.

Their former values are recorded before the first change, so that a `down` after a crash knows them.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from e2e.cluster.files import write_private

SYSCTL = Path("/proc/sys")
# Set by kubelet and kube-proxy behind our back, in the machine's namespace too.
CHANGED_BY_OTHERS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "net/ipv4/conf/all/route_localnet",
)


def record_settings(record: Path, names: Iterable[str]) -> None:
    if not record.exists():
        write_private(record, json.dumps(_settings(names)))


def restore_settings(record: Path) -> None:
    if record.exists():
        change_settings(json.loads(record.read_text()))


def change_settings(values: Mapping[str, str]) -> None:
    for name, wanted in values.items():
        if _settings([name]).get(name, wanted) != wanted:
            (SYSCTL / name).write_text(wanted)


def _settings(names: Iterable[str]) -> dict[str, str]:
    return {name: (SYSCTL / name).read_text().strip() for name in names if (SYSCTL / name).exists()}
