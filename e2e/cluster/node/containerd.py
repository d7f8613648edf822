"""The container runtime of a node: a containerd of its own, which shares nothing with the machine's."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from e2e.cluster.errors import ClusterError
from e2e.cluster.files import write_private
from e2e.cluster.network import Network
from e2e.cluster.node.layout import PAUSE_IMAGE, Layout
from e2e.cluster.node.packages import cni_folder

NAMESPACE = "k8s.io"
SHIM_SOCKET = r"/run/containerd/s/[0-9a-f]{64}"
CRI = "io.containerd.grpc.v1.cri"


def write_configuration(layout: Layout, network: Network) -> Path:
    conf_dir = layout.cni / "net.d"
    conf_dir.mkdir(exist_ok=True)
    write_private(conf_dir / "10-rukpak.conflist", json.dumps(_cni_network(layout, network), indent=1))
    path = layout.containerd / "config.toml"
    write_private(path, _toml(_configuration(layout)))
    return path


def ctr(layout: Layout, *arguments: str) -> str:
    command = ["ctr", "--address", str(layout.socket), "--namespace", NAMESPACE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def answers(layout: Layout) -> bool:
    try:
        ctr(layout, "version")
    except ClusterError:
        return False
    return True


def import_archive(layout: Layout, archive: Path) -> list[str]:
    """Load a docker-archive or an OCI archive; give the names of the images that came with it."""
    said = ctr(layout, "images", "import", "--snapshotter", layout.snapshotter, str(archive))
    return re.findall(r"^unpacking (\S+) ", said, re.MULTILINE)


def containers(layout: Layout) -> list[str]:
    """Give the ids of all that run or ran here, even when containerd does not run any more."""
    return sorted({bundle.name for bundle in _bundles(layout)})


def shim_sockets(layout: Layout) -> set[Path]:
    """Give the sockets of the shims, which lie in a place of their own."""
    records = [bundle / name for bundle in _bundles(layout) for name in ("address", "bootstrap.json")]
    found = [re.findall(SHIM_SOCKET, record.read_text()) for record in records if record.exists()]
    return {Path(path) for paths in found for path in paths}


def _bundles(layout: Layout) -> Iterator[Path]:
    return layout.containerd.glob(f"run/io.containerd.runtime.v2.task/{NAMESPACE}/*")


def _configuration(layout: Layout) -> dict[str, Any]:
    folder = layout.containerd
    runc = {
        "runtime_type": "io.containerd.runc.v2",
        "options": {"SystemdCgroup": False, "Root": str(folder / "runc")},
    }
    cri = {
        "sandbox_image": PAUSE_IMAGE,
        # Without CAP_SYS_RESOURCE a container may not be given a lower score than ours.
        "restrict_oom_score_adj": True,
        "netns_mounts_under_state_dir": True,
        "stream_server_address": "127.0.0.1",
        "stream_server_port": "0",
        "containerd": {
            "snapshotter": layout.snapshotter,
            "default_runtime_name": "runc",
            "runtimes": {"runc": runc},
        },
        "cni": {"bin_dir": str(cni_folder()), "conf_dir": str(layout.cni / "net.d")},
        "registry": {"config_path": str(layout.registries)},
    }
    return {
        "version": 2,
        "root": str(folder / "root"),
        "state": str(folder / "run"),
        "grpc": {"address": str(layout.socket)},
        "plugins": {CRI: cri, "io.containerd.internal.v1.opt": {"path": str(folder / "opt")}},
    }


def _cni_network(layout: Layout, network: Network) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "dataDir": str(layout.cni / "addresses"),
        "ranges": [[{"subnet": network.pods, "gateway": network.address}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    # Hairpin: a pod may reach itself through its own Service.
    bridge = {"type": "bridge", "bridge": layout.bridge, "isGateway": True, "hairpinMode": True, "ipam": addresses}
    return {"cniVersion": "0.4.0", "name": layout.cni_network, "plugins": [bridge]}


def _toml(table: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """Write tables of strings, numbers and booleans, whose JSON spelling is TOML's too."""
    plain = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)]
    header = [f"[{'.'.join(map(json.dumps, path))}]"] if path else []
    below = [_toml(value, (*path, key)) for key, value in table.items() if isinstance(value, dict)]
    return "\n".join([*header, *plain, *below])
