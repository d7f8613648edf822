"""The node's configuration files say what they must; its names follow from the state directory."""

import json
import tomllib
from pathlib import Path

import pytest

from e2e.cluster.errors import ClusterError
from e2e.cluster.network import Network
from e2e.cluster.node import containerd, kubernetes
from e2e.cluster.node.layout import Layout
from e2e.cluster.node.mounts import filesystem_of
from e2e.cluster.node.traces import remove_traces
from e2e.cluster.state import StateDir

NETWORK = Network(address="10.201.0.1", pods="10.201.0.0/24", services="10.201.240.0/20")


@pytest.fixture
def layout(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Layout:
    # The rule about the length of sockets has a test of its own; pytest's folders can be deep.
    monkeypatch.setattr("e2e.cluster.node.layout.LONGEST_FOLDER", 4096)
    layout = Layout(StateDir(tmp_path_factory.mktemp("state")))
    layout.make()
    return layout


def test_containerd_shares_nothing_with_the_machines_own(layout: Layout) -> None:
    configuration = tomllib.loads(containerd.write_configuration(layout, NETWORK).read_text())
    places = [configuration["root"], configuration["state"], configuration["grpc"]["address"]]
    cri = configuration["plugins"]["io.containerd.grpc.v1.cri"]
    places += [cri["cni"]["conf_dir"], cri["registry"]["config_path"]]
    assert all(Path(place).is_relative_to(layout.folder) for place in places)
    assert cri["restrict_oom_score_adj"] is True
    assert cri["sandbox_image"] == "rukpak.io/e2e/pause:1"


def test_pods_get_addresses_from_the_networks_range(layout: Layout) -> None:
    containerd.write_configuration(layout, NETWORK)
    written = json.loads((layout.cni / "net.d" / "10-rukpak.conflist").read_text())
    [bridge] = written["plugins"]
    assert bridge["bridge"] == layout.bridge
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.201.0.0/24", "gateway": "10.201.0.1"}]]


def test_kubelet_is_closed_to_strangers(layout: Layout) -> None:
    configuration = kubernetes._kubelet(layout, NETWORK, 20001)
    assert configuration["authentication"]["anonymous"] == {"enabled": False}
    assert configuration["authorization"] == {"mode": "Webhook"}
    assert configuration["readOnlyPort"] == 0
    assert configuration["address"] == "10.201.0.1"


def test_kube_proxy_leaves_the_machines_connection_limits(layout: Layout) -> None:
    conntrack = kubernetes._proxy(layout, NETWORK, 20001, 20002)["conntrack"]
    assert conntrack == {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}


def test_two_clusters_have_two_bridges_with_names_the_kernel_takes(tmp_path: Path) -> None:
    bridges = {Layout(StateDir(tmp_path / name)).bridge for name in ("one", "two")}
    assert len(bridges) == 2
    assert all(len(bridge) <= 15 for bridge in bridges)  # IFNAMSIZ less its NUL


def test_a_path_too_long_for_sockets_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="shorter --state"):
        Layout(StateDir(tmp_path / ("x" * 80))).make()


def test_shims_and_containers_are_known_from_disk(layout: Layout) -> None:
    bundle = layout.containerd / "run/io.containerd.runtime.v2.task/k8s.io/abc"
    bundle.mkdir(parents=True)
    socket = f"/run/containerd/s/{'0' * 64}"
    (bundle / "address").write_text(f"unix://{socket}")
    assert containerd.containers(layout) == ["abc"]
    assert containerd.shim_sockets(layout) == {Path(socket)}


def test_files_in_fixed_places_go_and_others_stay(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, logs, plugins = (tmp_path / name for name in ("results", "logs", "plugins"))
    for folder in (results, logs, plugins):
        folder.mkdir()
    monkeypatch.setattr("e2e.cluster.node.traces.CNI_RESULTS", results)
    monkeypatch.setattr("e2e.cluster.node.traces.CONTAINER_LOGS", logs)
    monkeypatch.setattr("e2e.cluster.node.traces.DEVICE_PLUGINS", plugins)
    monkeypatch.setattr("e2e.cluster.node.traces.FOLDERS", (results, logs, plugins))
    monkeypatch.setattr("e2e.cluster.node.traces.PARENTS", ())
    for name in (f"{layout.cni_network}-abc-eth0", "cni-loopback-abc-lo", "podman-abc-eth0"):
        (results / name).touch()
    (logs / "ours.log").symlink_to(layout.pod_logs / "pod" / "0.log")
    (logs / "theirs.log").symlink_to("/var/log/pods/0.log")
    remove_traces(layout, ["abc"], [])
    assert [entry.name for entry in results.iterdir()] == ["podman-abc-eth0"]
    assert [entry.name for entry in logs.iterdir()] == ["theirs.log"]
    assert not plugins.exists()


def test_the_file_system_of_a_path_is_that_of_the_nearest_mount() -> None:
    assert filesystem_of(Path("/proc/self")) == "proc"
