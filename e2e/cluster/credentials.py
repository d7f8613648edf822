"""Identities in a built cluster: certificates, kubeconfigs and keys, written before anything starts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from e2e.cluster import audit
from e2e.cluster.files import write_private
from e2e.cluster.kubeconfig import write_kubeconfig
from e2e.cluster.network import Network
from e2e.cluster.pki import Authority, KeyPair, Subject, signing_keys
from e2e.cluster.state import StateDir

LOOPBACK_NAMES = Subject(name="loopback", dns_names=["localhost"], addresses=["127.0.0.1"])
COMPONENT_USERS = {
    "controller-manager": Subject(name="system:kube-controller-manager"),
    "scheduler": Subject(name="system:kube-scheduler"),
    "proxy": Subject(name="system:kube-proxy"),
}
WEBHOOK_CLIENT = Subject(name="kube-apiserver-webhooks")  # the API server, where it calls webhooks
ADMIN = Subject(name="admin", organisations=["system:masters"])


def issue_credentials(state: StateDir, network: Network, *, server: str) -> None:
    """Make all of them except the admin's kubeconfig, which appears when the cluster is ready."""
    authority = Authority.create("rukpak-cluster", of_clients=True)
    authority.pair.write(state.pki, "ca")
    _issue_for_etcd(state.pki)
    _issue_for_apiserver(authority, state.pki, network)
    authority.issue(ADMIN).write(state.pki, "admin")
    for name, subject in COMPONENT_USERS.items():
        _kubeconfig(state.pki / f"{name}.kubeconfig", authority, subject, server)


def issue_user(
    state: StateDir, *, server: str, user: str, groups: Sequence[str] = (), path: Path | None = None
) -> Path:
    """Write a kubeconfig for any user, by default to `users/USER`."""
    authority = Authority(KeyPair.read(state.pki, "ca"))
    target = path or state.users / user.replace(":", "-").replace("/", "-")
    _kubeconfig(target, authority, Subject(name=user, organisations=groups), server)
    return target


def write_admin_kubeconfig(state: StateDir, *, server: str) -> None:
    write_kubeconfig(
        state.kubeconfig,
        server=server,
        authority=(state.pki / "ca.crt").read_bytes(),
        user=ADMIN.name,
        pair=KeyPair.read(state.pki, "admin"),
    )


def _issue_for_etcd(pki: Path) -> None:
    # An authority of its own: a certificate of the cluster, admin's included, opens no way past the API server.
    authority = Authority.create("rukpak-etcd")
    authority.pair.write(pki, "etcd-ca")
    authority.issue(LOOPBACK_NAMES).write(pki, "etcd")
    authority.issue(Subject(name="apiserver")).write(pki, "etcd-client")


def _issue_for_apiserver(authority: Authority, pki: Path, network: Network) -> None:
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    names.append("kubernetes.default.svc.cluster.local")
    addresses = sorted({"127.0.0.1", network.address, network.api_service_address})
    authority.issue(Subject(name="kube-apiserver", dns_names=names, addresses=addresses)).write(pki, "apiserver")
    reader = Subject(name="apiserver-kubelet-client", organisations=["system:masters"])
    authority.issue(reader).write(pki, "kubelet-client")
    authority.issue(WEBHOOK_CLIENT).write(pki, "webhook-client")
    write_private(pki / "webhooks.kubeconfig", json.dumps(_webhook_users(pki)))
    write_private(pki / "admission.yaml", json.dumps(_admission(pki)))
    write_private(pki / "audit.yaml", json.dumps(audit.POLICY))
    front = Authority.create("rukpak-front-proxy")
    front.pair.write(pki, "front-proxy-ca")
    front.issue(Subject(name="front-proxy-client")).write(pki, "front-proxy-client")
    private, public = signing_keys()
    write_private(pki / "service-accounts.key", private)
    write_private(pki / "service-accounts.pub", public)


def _webhook_users(pki: Path) -> dict[str, Any]:
    """Kubeconfig with the certificate that the API server shows to every webhook."""
    user = {"client-certificate": str(pki / "webhook-client.crt"), "client-key": str(pki / "webhook-client.key")}
    return {"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}


def _admission(pki: Path) -> dict[str, Any]:
    version = "apiserver.config.k8s.io/v1"
    webhooks = {
        "apiVersion": version,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(pki / "webhooks.kubeconfig"),
    }
    plugin = {"name": "ValidatingAdmissionWebhook", "configuration": webhooks}
    return {"apiVersion": version, "kind": "AdmissionConfiguration", "plugins": [plugin]}


def _kubeconfig(path: Path, authority: Authority, subject: Subject, server: str) -> None:
    write_kubeconfig(
        path,
        server=server,
        authority=authority.pair.certificate,
        user=subject.name,
        pair=authority.issue(subject),
    )
