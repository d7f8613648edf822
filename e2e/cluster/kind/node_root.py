"""The file system of kind's node: a Debian with kind's own base files, read from its Go module, and Kubernetes.

It differs from kindest/node in what no package registry has: the container runtime is Debian's, pods get their network
from a fixed configuration instead of kindnetd (one node only), and the storage class provisions nothing.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from e2e.cluster import binaries, debian
from e2e.cluster.errors import ClusterError
from e2e.cluster.kind import node_content
from e2e.cluster.programs import output

KIND_MODULE = "sigs.k8s.io/kind"
PROGRAMS = ("kind", "kubelet", "kubeadm", "kubectl", *node_content.PROGRAMS)
PACKAGES = (
    "systemd",
    *("conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod", "libseccomp2", "pigz"),
    *("bash", "ca-certificates", "curl", "jq", "procps"),
    *("containerd", "runc", "containernetworking-plugins"),
)
SCRIPTS = ("usr/local/bin", "kind/bin")
# What images/base/Dockerfile of kind removes, so that systemd starts nothing but ours.
UNWANTED_UNITS = (
    "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
    "lib/systemd/system/multi-user.target.wants/*",
    "etc/systemd/system/*.wants/*",
    "lib/systemd/system/local-fs.target.wants/*",
    "lib/systemd/system/sockets.target.wants/*udev*",
    "lib/systemd/system/sockets.target.wants/*initctl*",
    "lib/systemd/system/basic.target.wants/*",
    # Settings for the whole kernel, not for the node alone.
    "usr/lib/sysctl.d/*",
)
UNITS = ("kubelet", "containerd", "undo-mount-hacks")
PODS = "10.244.0.0/24"  # of the first node of kind's default range


def bootstrap(root: Path) -> None:
    debian.bootstrap(PACKAGES, root, purpose="building kind's node image")


def kind_files() -> Path:
    """The files of images/base in kind's module, whose binary may come from a cache without it."""
    module = json.loads(output(["go", "-C", str(binaries.KIND.folder), "mod", "download", "-json", KIND_MODULE]))
    files = Path(module["Dir"], "images/base/files")
    if not files.is_dir():
        raise ClusterError(f"{files} does not exist: this version of kind builds its node image in another way")
    return files


def furnish(root: Path, base_files: Path) -> None:
    version = binaries.kubernetes_version()
    _copy_files(base_files, root)
    _choose_units(root)
    _set_up_runtime(root)
    for name in ("kubelet", "kubeadm", "kubectl"):
        _install(binaries.location(name), root / "usr/bin" / name)
    (root / "kind/version").write_text(version)
    _write_network(root)
    _write_manifests(root)
    node_content.store_images(root, version=version)


def pack(root: Path, target: Path) -> Path:
    command = ["tar", "--create", f"--file={target}", f"--directory={root}", "--numeric-owner", "--sort=name", "."]
    output(command)
    return target


def _copy_files(files: Path, root: Path) -> None:
    for source in sorted(files.rglob("*")):
        inside = source.relative_to(files)
        target = root / inside
        if source.is_dir():
            target.mkdir(exist_ok=True)
            target.chmod(0o755)
        else:
            shutil.copyfile(source, target)
            target.chmod(0o755 if str(inside.parent) in SCRIPTS else 0o644)


def _choose_units(root: Path) -> None:
    for pattern in UNWANTED_UNITS:
        for found in root.glob(pattern):
            found.unlink()
    wanted = root / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(parents=True, exist_ok=True)
    for unit in UNITS:
        (wanted / f"{unit}.service").symlink_to(f"/etc/systemd/system/{unit}.service")
    # It would register programs for the whole machine.
    (root / "etc/systemd/system/systemd-binfmt.service").symlink_to("/dev/null")
    with (root / "etc/systemd/journald.conf").open("a") as configuration:
        configuration.write("ReadKMsg=no\n")
    (root / "sbin/init").unlink(missing_ok=True)
    (root / "sbin/init").symlink_to("/lib/systemd/systemd")
    (root / "etc/kubernetes/manifests").mkdir(parents=True)


def _set_up_runtime(root: Path) -> None:
    """Debian's programs, where kind expects its own."""
    for program in ("containerd", "ctr", "containerd-shim-runc-v2"):
        (root / "usr/local/bin" / program).symlink_to(f"/usr/bin/{program}")
    (root / "opt/cni").mkdir(parents=True)
    (root / "opt/cni/bin").symlink_to("/usr/lib/cni")
    specification: dict[str, Any] = json.loads(output(["chroot", str(root), "ctr", "oci", "spec"]))
    hooks = specification.setdefault("hooks", {}).setdefault("createContainer", [])
    hooks.append({"path": "/kind/bin/mount-product-files.sh"})
    specification["process"].pop("rlimits", None)
    (root / "etc/containerd/cri-base.json").write_text(json.dumps(specification))


def _write_network(root: Path) -> None:
    """Write the network configuration that kindnetd would write on the first node of a cluster."""
    addresses = {
        "type": "host-local",
        "dataDir": "/run/cni-ipam-state",
        "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": PODS}]],
    }
    plugins = [
        {"type": "ptp", "ipMasq": True, "mtu": 1500, "ipam": addresses},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ]
    folder = root / "etc/cni/net.d"
    folder.mkdir(parents=True)
    network = {"cniVersion": "0.4.0", "name": "kindnet", "plugins": plugins}
    (folder / "10-kindnet.conflist").write_text(json.dumps(network))


def _write_manifests(root: Path) -> None:
    """Write the manifests that kind applies to a new cluster."""
    note = "pods get their network from /etc/cni/net.d/10-kindnet.conflist of the node image"
    network = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"note": note}}
    network["metadata"] = {"name": "kind-cni", "namespace": "kube-system"}
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": default},
        "provisioner": "kubernetes.io/no-provisioner",
    }
    folder = root / "kind/manifests"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "default-cni.yaml").write_text(json.dumps(network))
    (folder / "default-storage.yaml").write_text(json.dumps(storage))


def _install(program: Path, target: Path) -> None:
    shutil.copyfile(program, target)
    target.chmod(0o755)
