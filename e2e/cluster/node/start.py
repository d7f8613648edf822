"""A node from nothing to Ready: the machine's part first, then the programs in the order they need each other."""

import shutil

from e2e.cluster import binaries
from e2e.cluster.api import Api
from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.image_archive import Image, write_image
from e2e.cluster.network import Network
from e2e.cluster.node import containerd, kubernetes
from e2e.cluster.node.claim import claim
from e2e.cluster.node.host import change_host, free_network
from e2e.cluster.node.layout import NAME, PAUSE_IMAGE, Layout
from e2e.cluster.node.packages import require_node_support
from e2e.cluster.ports import free_ports
from e2e.cluster.state import StateDir

COMPONENTS = ("containerd", "kubelet", "kube-proxy")
CONTAINERD_SECONDS = 30.0
READY_SECONDS = 90.0


def prepare_machine(state: StateDir) -> Network:
    """Do what must be there before the control plane, which listens on the bridge."""
    require_node_support()
    binaries.ensure(binaries.NODE)
    state.claim()
    claim(state.path)
    layout = Layout(state)
    layout.make()
    with free_network() as network:
        change_host(layout, network)
    return network


def start_node(plane: ControlPlane) -> None:
    layout, network, processes = Layout(plane.state), plane.network, plane.processes
    configuration = containerd.write_configuration(layout, network)
    runtime = [str(shutil.which("containerd")), f"--config={configuration}"]
    processes.start("containerd", runtime, through_proxy=True)
    _wait_for_containerd(plane)
    pause = Image(name=PAUSE_IMAGE, files={"/pause": binaries.path("pause").read_bytes()}, entrypoint=["/pause"])
    containerd.import_archive(layout, write_image(pause, layout.folder / "pause.tar"))
    port = free_ports(["kubelet"], network.address)["kubelet"]
    kubelet = kubernetes.kubelet_command(plane.state, layout, network, server=plane.url, port=port)
    processes.start("kubelet", kubelet)
    processes.start("kube-proxy", kubernetes.proxy_command(layout, network, **free_ports(["health", "metrics"])))
    _wait_for_node(plane)


def repair_node(plane: ControlPlane) -> list[str]:
    dead = [name for name in COMPONENTS if not plane.processes.is_alive(name)]
    for name in dead:
        plane.processes.start_again(name, through_proxy=name == "containerd")
        if name == "containerd":
            _wait_for_containerd(plane)
    _wait_for_node(plane)
    return dead


def is_ready(api: Api) -> bool:
    node = api.read(f"/api/v1/nodes/{NAME}")
    if node is None or node["spec"].get("taints"):
        return False
    conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
    return conditions.get("Ready") == "True"


def _wait_for_containerd(plane: ControlPlane) -> None:
    layout = Layout(plane.state)
    plane.processes.wait_until(
        "answering", lambda: containerd.answers(layout), component="containerd", seconds=CONTAINERD_SECONDS
    )


def _wait_for_node(plane: ControlPlane) -> None:
    api = plane.api
    plane.processes.wait_until("ready", lambda: is_ready(api), component="kubelet", seconds=READY_SECONDS)
    # The API server through its Service: seen from the machine, so Service-backed webhooks work too.
    service = Api(address=plane.network.api_service_address, port=443, pki=plane.state.pki)
    plane.processes.wait_until(
        "routing the Service kubernetes",
        lambda: service.found("/readyz"),
        component="kube-proxy",
        seconds=READY_SECONDS,
    )
