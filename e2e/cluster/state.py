"""The state directory of a cluster: what lies where, and the rule that only our own entries are removed."""

import contextlib
import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked, write_private

ENTRIES = (
    "kubeconfig",
    "users",
    "pki",
    "etcd",
    "node",
    "kind",
    "logs",
    "audit.log",
    "processes.json",
    "cluster.json",
    "lock",
)


class StateDir:
    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.kubeconfig = self.path / "kubeconfig"
        self.users = self.path / "users"
        self.pki = self.path / "pki"
        self.etcd = self.path / "etcd"
        self.node = self.path / "node"
        self.kind = self.path / "kind"
        self.logs = self.path / "logs"
        self.audit_log = self.path / "audit.log"
        self.processes = self.path / "processes.json"
        self._record = self.path / "cluster.json"

    @property
    def exists(self) -> bool:
        return self._record.exists()

    def refuse_strangers(self) -> None:
        """Leave a directory alone that holds anything but a cluster: it is in other use."""
        if self.path.is_dir() and not self.exists:
            strangers = sorted(entry.name for entry in self.path.iterdir() if entry.name not in ENTRIES)
            if strangers:
                raise ClusterError(
                    f"{self.path} is not the state of a cluster (it holds {strangers[0]}): "
                    "choose a new or an empty directory"
                )

    def claim(self) -> None:
        self.refuse_strangers()
        for folder in (self.path, self.pki, self.users, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)

    def read(self) -> dict[str, Any]:
        """Read what `write` left; empty when there is no cluster here."""
        if not self.exists:
            return {}
        record: dict[str, Any] = json.loads(self._record.read_text())
        return record

    def write(self, record: Mapping[str, Any]) -> None:
        write_private(self._record, json.dumps(record, indent=1))

    def remove(self, *, keep: Collection[str] = ()) -> None:
        for name in ENTRIES:
            entry = self.path / name
            if name in keep and not _is_empty(entry):
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        with locked(self.path / "lock"):
            yield


def _is_empty(entry: Path) -> bool:
    return entry.is_dir() and not any(entry.iterdir())
