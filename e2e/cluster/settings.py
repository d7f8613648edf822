"""Kernel settings that clusters change on the machine, directly or through kubelet, kube-proxy, systemd and engines.

Their former values are recorded once for the machine, before the first cluster changes one, and restored when the last
cluster goes: two clusters at once would else restore what the other one set. The record outlives a crash, not a boot.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from e2e.cluster import machine
from e2e.cluster.files import locked, write_private
from e2e.cluster.machine import is_root_on_linux

SYSCTL = Path("/proc/sys")
FORWARDING = "net/ipv4/ip_forward"
BRIDGE_FILTER = "net/bridge/bridge-nf-call-iptables"
NAMES = (
    FORWARDING,
    BRIDGE_FILTER,
    # Set behind our back, some of them by a node whose network namespace is not the machine's.
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/pid_max",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "fs/protected_fifos",
    "fs/protected_hardlinks",
    "fs/protected_regular",
    "fs/protected_symlinks",
    "net/ipv4/conf/all/route_localnet",
    "net/ipv6/conf/all/forwarding",
    "net/ipv6/conf/default/forwarding",
)


@dataclass(frozen=True, kw_only=True)
class Record:
    values: Mapping[str, str]
    clusters: tuple[str, ...]  # state directories


def record_settings(cluster: Path) -> None:
    """Remember the settings as they are, on behalf of a cluster that may change them."""
    if not is_root_on_linux():  # without root no record can be written, and no setting be restored
        return
    with locked(_record().with_suffix(".lock")):
        record = _read() or Record(values=_settings(), clusters=())
        _write(replace(record, clusters=(*_others(record, cluster), str(cluster))))


def restore_settings(cluster: Path) -> None:
    if not is_root_on_linux():
        return
    with locked(_record().with_suffix(".lock")):
        record = _read()
        if record is not None and (others := _others(record, cluster)):
            _write(replace(record, clusters=others))
        elif record is not None:
            change_settings(record.values)
            _record().unlink()
        _record().with_suffix(".lock").unlink(missing_ok=True)


def change_settings(values: Mapping[str, str]) -> None:
    for name, wanted in values.items():
        setting = SYSCTL / name
        if setting.exists() and setting.read_text().strip() != wanted:
            setting.write_text(wanted)


def _others(record: Record, cluster: Path) -> tuple[str, ...]:
    """The clusters beside this one, without those whose state was removed."""
    return tuple(name for name in record.clusters if name != str(cluster) and Path(name).exists())


def _settings() -> dict[str, str]:
    return {name: (SYSCTL / name).read_text().strip() for name in NAMES if (SYSCTL / name).exists()}


def _record() -> Path:
    return machine.RUN / f"rukpak-settings-{machine.network_namespace()}.json"


def _read() -> Record | None:
    try:
        found = json.loads(_record().read_text())
    except FileNotFoundError:
        return None
    return Record(values=found["values"], clusters=tuple(found["clusters"]))


def _write(record: Record) -> None:
    write_private(_record(), json.dumps(asdict(record)))
