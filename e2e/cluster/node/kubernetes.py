"""kubelet and kube-proxy: their configuration and credentials."""

import json
from pathlib import Path
from typing import Any

from e2e.cluster import binaries
from e2e.cluster.credentials import issue_user
from e2e.cluster.files import write_private
from e2e.cluster.network import Network
from e2e.cluster.node.layout import NAME, Layout
from e2e.cluster.pki import Authority, KeyPair, Subject
from e2e.cluster.state import StateDir

# With systemd-resolved, /etc/resolv.conf names a loopback address that means nothing inside a pod.
RESOLVED = Path("/run/systemd/resolve/resolv.conf")


def kubelet_command(state: StateDir, layout: Layout, network: Network, *, server: str, port: int) -> list[str]:
    kubeconfig = issue_user(
        state,
        server=server,
        user=f"system:node:{NAME}",
        groups=["system:nodes"],
        path=layout.pki / "kubelet.kubeconfig",
    )
    authority = Authority(KeyPair.read(layout.pki, "ca"))
    authority.issue(Subject(name=NAME, dns_names=[NAME], addresses=[network.address])).write(layout.pki, "kubelet")
    configuration = layout.folder / "kubelet.json"
    write_private(configuration, json.dumps(_kubelet(layout, network, port), indent=1))
    return [
        str(binaries.location("kubelet")),
        f"--config={configuration}",
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={NAME}",
        f"--node-ip={network.address}",
        f"--root-dir={layout.kubelet}",
    ]


def proxy_command(layout: Layout, network: Network, *, health: int, metrics: int) -> list[str]:
    configuration = layout.folder / "proxy.json"
    write_private(configuration, json.dumps(_proxy(layout, network, health, metrics), indent=1))
    return [str(binaries.location("kube-proxy")), f"--config={configuration}"]


def _kubelet(layout: Layout, network: Network, port: int) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.address,
        "port": port,
        "readOnlyPort": 0,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(layout.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.pki / "kubelet.crt"),
        "tlsPrivateKeyFile": str(layout.pki / "kubelet.key"),
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        # The machine's cgroups are used as they are: version 1 or 2, nothing delegated, no systemd.
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "oomScoreAdj": 0,
        "failSwapOn": False,
        # A full disk of the machine must not evict pods or delete images that were loaded for a test.
        "evictionHard": {},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "makeIPTablesUtilChains": False,
        "podLogsDir": str(layout.pod_logs),
        "volumePluginDir": str(layout.kubelet / "volume-plugins"),
        "resolvConf": str(RESOLVED if RESOLVED.exists() else "/etc/resolv.conf"),
    }


def _proxy(layout: Layout, network: Network, health: int, metrics: int) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(layout.pki / "proxy.kubeconfig")},
        "hostnameOverride": NAME,
        "clusterCIDR": network.pods,
        "healthzBindAddress": f"127.0.0.1:{health}",
        "metricsBindAddress": f"127.0.0.1:{metrics}",
        "nodePortAddresses": [f"{network.address}/32"],
        "iptables": {"localhostNodePorts": False},
        # 0: the machine's own limits stay as they are.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "oomScoreAdj": 0,
    }
