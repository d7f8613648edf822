"""The programs of the cluster and of tests, built from Go modules of this folder and beside, kept in a cache.

`${XDG_CACHE_HOME:-~/.cache}/rukpak-py/bin/<key>/NAME`, where the key is made of everything that decides
what comes out: go.mod, go.sum, our own sources, the Go version and platform, the linker's flags. A binary
appears under its name only when it is complete; a lock lets one process build while others wait for it.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked

HERE = Path(__file__).parent
HEARTBEAT_SECONDS = 15.0
LOG_LINES = 20


@dataclass(frozen=True, kw_only=True)
class Module:
    """A folder with a go.mod. `stamps` tell its programs versions of modules; `tags` are build tags."""

    folder: Path
    stamps: tuple[tuple[str, str], ...] = ()
    is_ours: bool = False
    tags: tuple[str, ...] = ()


KUBERNETES = Module(
    folder=HERE,
    stamps=(
        ("k8s.io/kubernetes", "k8s.io/component-base/version.gitVersion=v{major}.{minor}.{patch}"),
        ("k8s.io/kubernetes", "k8s.io/component-base/version.gitMajor={major}"),
        ("k8s.io/kubernetes", "k8s.io/component-base/version.gitMinor={minor}"),
        ("k8s.io/kubernetes", "k8s.io/component-base/version.gitTreeState=clean"),
    ),
)
# Without a cluster at hand, helm claims the Kubernetes that its client library belongs to (v0.37 is 1.37).
HELM = Module(
    folder=HERE / "helm",
    stamps=(
        ("helm.sh/helm/v3", "helm.sh/helm/v3/internal/version.version=v{major}.{minor}.{patch}"),
        ("k8s.io/client-go", "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor={minor}"),
        ("k8s.io/client-go", "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor={minor}"),
    ),
)
PAUSE = Module(folder=HERE / "pause", is_ours=True)
KIND = Module(folder=HERE / "kind")
COREDNS = Module(folder=HERE / "kind" / "coredns", is_ours=True)
ACTIONLINT = Module(folder=HERE.parent / "actionlint")
REGISTRY = Module(folder=HERE.parent / "registry", is_ours=True)
OPM = Module(folder=HERE.parents[1] / "bench" / "opm", tags=("containers_image_openpgp", "exclude_graphdriver_btrfs"))
# What is scraped stands in the configuration: no discovery of clouds, and so few of the modules, is built.
PROMETHEUS = Module(folder=HERE.parent / "prometheus", tags=("remove_all_sd",))
WEBHOOK_OPERATOR = Module(folder=HERE.parent / "webhook_operator", is_ours=True)

PACKAGES: dict[str, tuple[Module, str]] = {
    "etcd": (KUBERNETES, "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": (KUBERNETES, "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": (KUBERNETES, "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": (KUBERNETES, "k8s.io/kubernetes/cmd/kube-scheduler"),
    "kubectl": (KUBERNETES, "k8s.io/kubernetes/cmd/kubectl"),
    "kubelet": (KUBERNETES, "k8s.io/kubernetes/cmd/kubelet"),
    "kube-proxy": (KUBERNETES, "k8s.io/kubernetes/cmd/kube-proxy"),
    "kubeadm": (KUBERNETES, "k8s.io/kubernetes/cmd/kubeadm"),
    "kind": (KIND, "sigs.k8s.io/kind"),
    "coredns": (COREDNS, "rukpak.io/e2e/cluster/kind/coredns"),
    "helm": (HELM, "helm.sh/helm/v3/cmd/helm"),
    "pause": (PAUSE, "rukpak.io/e2e/cluster/pause"),
    "probe": (PAUSE, "rukpak.io/e2e/cluster/pause/probe"),
    "actionlint": (ACTIONLINT, "github.com/rhysd/actionlint/cmd/actionlint"),
    "registry": (REGISTRY, "rukpak.io/e2e/registry"),
    "opm": (OPM, "github.com/operator-framework/operator-registry/cmd/opm"),
    "prometheus": (PROMETHEUS, "github.com/prometheus/prometheus/cmd/prometheus"),
    "promtool": (PROMETHEUS, "github.com/prometheus/prometheus/cmd/promtool"),
    "webhook-operator": (WEBHOOK_OPERATOR, "rukpak.io/e2e/webhook_operator"),
}
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
NODE = (*CONTROL_PLANE, "kubelet", "kube-proxy", "pause")


def path(name: str) -> Path:
    """Give the program, built first when it is not there."""
    ensure([name])
    return location(name)


def location(name: str) -> Path:
    """Say where the program is or will be."""
    return cache() / _key(PACKAGES[name][0]) / name


def ensure(names: Sequence[str]) -> None:
    if all(location(name).exists() for name in names):
        return
    with locked(cache() / "lock"):
        missing = [name for name in names if not location(name).exists()]
        for number, name in enumerate(missing, start=1):
            _build(name, f"{name} ({number}/{len(missing)})")


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rukpak-py" / "bin"


def kubernetes_version() -> str:
    return "v{major}.{minor}.{patch}".format_map(_required_version(KUBERNETES, "k8s.io/kubernetes"))


def linker_flags(module: Module) -> str:
    flags = ["-s", "-w"]
    for required, stamp in module.stamps:
        flags += ["-X", stamp.format_map(_required_version(module, required))]
    return " ".join(flags)


@functools.cache
def _key(module: Module) -> str:
    key = hashlib.sha256()
    for part in (_go_platform(module), linker_flags(module), *module.tags):
        key.update(f"{part}\n".encode())
    sources = module.folder.rglob("*.go") if module.is_ours else ()
    for file in sorted([*module.folder.glob("go.*"), *sources]):
        key.update(f"{file.relative_to(module.folder)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return key.hexdigest()[:16]


def _required_version(module: Module, required: str) -> dict[str, str]:
    file = module.folder / "go.mod"
    found = re.search(rf"^\s*{re.escape(required)} v(\d+)\.(\d+)\.(\S+)", file.read_text(), re.MULTILINE)
    if found is None:
        raise ClusterError(f"{file} requires no {required}: run `go mod tidy` there")
    return dict(zip(("major", "minor", "patch"), found.groups(), strict=True))


def _go_platform(module: Module) -> str:
    if not shutil.which("go"):
        raise ClusterError("Go is needed to build the cluster: install Go 1.26 or newer (https://go.dev/dl)")
    asked = ["go", "-C", str(module.folder), "env", "GOVERSION", "GOOS", "GOARCH"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


def _build(name: str, title: str) -> None:
    module, package = PACKAGES[name]
    target = location(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary, log = target.with_suffix(".new"), target.with_suffix(".log")
    command = ["go", "-C", str(module.folder), "build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false"]
    command += ["-tags", ",".join(module.tags)] if module.tags else []
    command += ["-ldflags", linker_flags(module), "-o", str(temporary), package]
    print(f"building {title} ...", flush=True)
    started = time.monotonic()
    with log.open("w") as output:
        environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            while not _ended(process):
                print(f"  {name}: {time.monotonic() - started:.0f} s, {_progress(log)}", flush=True)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        end = "\n".join(log.read_text().splitlines()[-LOG_LINES:])
        raise ClusterError(
            f"go could not build {name}; modules come from GOPROXY={os.environ.get('GOPROXY', '(default)')}. "
            f"The end of {log}:\n{end}"
        )
    temporary.rename(target)
    log.unlink()
    print(f"built {title}, {time.monotonic() - started:.0f} s", flush=True)


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(HEARTBEAT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _progress(log: Path) -> str:
    lines = log.read_text().splitlines()
    modules = sum(line.startswith("go: downloading") for line in lines)
    return f"{modules} modules fetched, {len(lines) - modules} packages compiled"


def main() -> int:
    try:
        ensure(sys.argv[1:])
    except ClusterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
