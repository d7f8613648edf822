"""A backup of a control plane's etcd, and its restore: every resourceVersion and every object goes back."""

import shutil
import signal
from pathlib import Path

from e2e.cluster.control_plane import ControlPlane

ETCD = "etcd"
CONTROLLERS = "kube-controller-manager"


class Backup:
    """Taken while nothing runs, so that the copy is whole. The API server is restarted by both, as one has to."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane = plane
        self._copy = folder / "etcd-backup"

    def take(self) -> None:
        self._stop()
        shutil.copytree(self._plane.state.etcd, self._copy)
        self._plane.repair()

    def restore(self) -> None:
        self._stop()
        shutil.rmtree(self._plane.state.etcd)
        shutil.copytree(self._copy, self._plane.state.etcd)
        self._plane.processes.stop(CONTROLLERS, signal.SIGKILL)  # its caches are of the future, too
        self._plane.repair()

    def restart(self) -> None:
        """The same without a restore: nothing goes back."""
        self._stop()
        self._plane.repair()

    def _stop(self) -> None:
        self._plane.stop_apiserver(signal.SIGKILL)
        self._plane.processes.stop(ETCD, signal.SIGKILL)
