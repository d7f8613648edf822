"""The command lines of the control plane. Kubernetes' defaults, except where a local cluster needs else."""

from collections.abc import Mapping
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.audit import MEGABYTES
from e2e.cluster.network import Network


def etcd(pki: Path, data: Path, ports: Mapping[str, int]) -> list[str]:
    clients, peers = (f"https://127.0.0.1:{ports[name]}" for name in ("etcd", "etcd-peer"))
    return _command(
        "etcd",
        {
            "name": "default",
            "data-dir": data,
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
            "client-cert-auth": "true",
            "cert-file": pki / "etcd.crt",
            "key-file": pki / "etcd.key",
            "trusted-ca-file": pki / "etcd-ca.crt",
            "peer-client-cert-auth": "true",
            "peer-cert-file": pki / "etcd.crt",
            "peer-key-file": pki / "etcd.key",
            "peer-trusted-ca-file": pki / "etcd-ca.crt",
            "log-level": "warn",
            # The data need not survive the machine, and fsync would set the pace of every test.
            "unsafe-no-fsync": "true",
        },
    )


def apiserver(pki: Path, network: Network, ports: Mapping[str, int], audit_log: Path | None = None) -> list[str]:
    flags: dict[str, object] = {
        "bind-address": network.address,
        "secure-port": ports["kube-apiserver"],
        "tls-cert-file": pki / "apiserver.crt",
        "tls-private-key-file": pki / "apiserver.key",
        "client-ca-file": pki / "ca.crt",
        "etcd-servers": f"https://127.0.0.1:{ports['etcd']}",
        "etcd-cafile": pki / "etcd-ca.crt",
        "etcd-certfile": pki / "etcd-client.crt",
        "etcd-keyfile": pki / "etcd-client.key",
        "service-cluster-ip-range": network.services,
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-signing-key-file": pki / "service-accounts.key",
        "service-account-key-file": pki / "service-accounts.pub",
        "requestheader-client-ca-file": pki / "front-proxy-ca.crt",
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": pki / "front-proxy-client.crt",
        "proxy-client-key-file": pki / "front-proxy-client.key",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "admission-control-config-file": pki / "admission.yaml",
        "allow-privileged": "true",
    }
    if network.has_node:
        flags |= {
            "advertise-address": network.address,
            "kubelet-preferred-address-types": "InternalIP",
            "kubelet-certificate-authority": pki / "ca.crt",
            "kubelet-client-certificate": pki / "kubelet-client.crt",
            "kubelet-client-key": pki / "kubelet-client.key",
        }
    else:
        # Endpoints may not be loopback addresses; nothing here would use them.
        flags["endpoint-reconciler-type"] = "none"
    if audit_log is not None:
        flags |= {
            "audit-policy-file": pki / "audit.yaml",
            "audit-log-path": audit_log,
            "audit-log-maxsize": MEGABYTES,
        }
    return _command("kube-apiserver", flags)


# With the default of 20 a second, making the controllers' own accounts takes five seconds.
CONTROLLER_QPS = 200


def controller_manager(pki: Path, network: Network, qps: int = CONTROLLER_QPS) -> list[str]:
    kubeconfig = pki / "controller-manager.kubeconfig"
    return _command(
        "kube-controller-manager",
        {
            "kubeconfig": kubeconfig,
            "use-service-account-credentials": "true",
            "service-account-private-key-file": pki / "service-accounts.key",
            "root-ca-file": pki / "ca.crt",
            "cluster-signing-cert-file": pki / "ca.crt",
            "cluster-signing-key-file": pki / "ca.key",
            "service-cluster-ip-range": network.services,
            "leader-elect": "false",
            "secure-port": "0",
            "kube-api-qps": qps,
            "kube-api-burst": 2 * qps,
        },
    )


def scheduler(pki: Path) -> list[str]:
    return _command(
        "kube-scheduler",
        {"kubeconfig": pki / "scheduler.kubeconfig", "leader-elect": "false", "secure-port": "0"},
    )


def _command(name: str, flags: Mapping[str, object]) -> list[str]:
    return [str(binaries.location(name)), *(f"--{flag}={value}" for flag, value in flags.items())]
