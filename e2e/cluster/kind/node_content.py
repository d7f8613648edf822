"""The images of the control plane, from our own programs, in the store of the node's containerd.

Each has one layer from scratch and the name that kubeadm asks for. The store is filled by the node's own containerd, in
its own file system: another version might write what it does not read.
"""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.image_archive import Image, write_image
from e2e.cluster.programs import output

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd", "coredns")
PROGRAMS = (*COMPONENTS, "pause")
PATH = "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# xtables-nft-multi is each of these, by the name that it is called.
IPTABLES = tuple(f"{family}{verb}" for family in ("iptables", "ip6tables") for verb in ("", "-save", "-restore"))
ANSWER_SECONDS = 30
LOAD_SECONDS = 300.0
LOADING = "kind/loading"  # in the node's file system, while the store is filled
SOCKET = f"/{LOADING}/containerd.sock"
LOAD = f"""\
containerd --config /{LOADING}/containerd.toml --log-level error &
tries=0
until ctr --address {SOCKET} version >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt {ANSWER_SECONDS * 10} ] || exit 1
    sleep 0.1
done
for archive in /{LOADING}/*.tar; do
    ctr --address {SOCKET} --namespace k8s.io images import --all-platforms --no-unpack "$archive" || exit 1
done
"""
CONFIGURATION = f"""\
version = 2
root = "/var/lib/containerd"
state = "/{LOADING}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "{SOCKET}"
"""


def store_images(root: Path, *, version: str) -> None:
    loading = root / LOADING
    loading.mkdir()
    for image in _images(root, _names(version)):
        name = re.sub(r"\W", "-", image.name)
        write_image(image, loading / f"{name}.tar")
    (loading / "containerd.toml").write_text(CONFIGURATION)
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root / 'proc'}"]
    output([*apart, "chroot", str(root), "/bin/sh", "-c", LOAD], seconds=LOAD_SECONDS)
    shutil.rmtree(loading)


def _names(version: str) -> dict[str, str]:
    """Kubeadm's name of each image of this version, by the last part of that name."""
    command = [str(binaries.location("kubeadm")), "config", "images", "list", f"--kubernetes-version={version}"]
    return {name.rpartition("/")[2].partition(":")[0]: name for name in output(command).split()}


def _images(root: Path, names: dict[str, str]) -> list[Image]:
    found = []
    for component in COMPONENTS:
        files = {f"/usr/local/bin/{component}": binaries.location(component).read_bytes()}
        entrypoint: tuple[str, ...] = ()
        if component == "coredns":
            entrypoint = ("/usr/local/bin/coredns",)
        if component == "kube-proxy":
            files |= _iptables(root)
        found.append(Image(name=names[component], files=files, entrypoint=entrypoint, user="", environment=[PATH]))
    pause = binaries.location("pause").read_bytes()
    configured = tomllib.loads((root / "etc/containerd/config.toml").read_text())
    sandbox = str(configured["plugins"]["io.containerd.grpc.v1.cri"]["sandbox_image"])
    found += [Image(name=name, files={"/pause": pause}, entrypoint=["/pause"]) for name in {names["pause"], sandbox}]
    return found


def _iptables(root: Path) -> dict[str, bytes]:
    """The node's iptables and nft, with their libraries and extensions."""
    multi = "/usr/sbin/xtables-nft-multi"
    files = {f"/usr/sbin/{name}": _read(root, multi) for name in IPTABLES} | {
        "/usr/sbin/nft": _read(root, "/usr/sbin/nft")
    }
    extensions = [f"/{file.relative_to(root)}" for file in root.glob("usr/lib/*/xtables/*.so")]
    command = ["chroot", str(root), "ldd", multi, "/usr/sbin/nft", *extensions]
    libraries = set(re.findall(r"(/lib\S*/\S+) \(0x", output(command)))
    return files | {path: _read(root, path) for path in (*extensions, *libraries)}


def _read(root: Path, path: str) -> bytes:
    """A file of the node; its links are the node's, too."""
    shown = subprocess.run(["chroot", str(root), "cat", path], check=True, capture_output=True)
    return shown.stdout
