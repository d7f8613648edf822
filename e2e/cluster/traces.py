"""`python -m e2e.cluster.traces`: what a cluster could leave on this machine, a line each, to be compared with `diff`.

Processes by program, links and routes, firewall rules, mounts, cgroups, kernel settings and the places where engines
keep things. Two calls on a machine where nothing changed print the same.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from e2e.cluster import packages

# Counters and what the kernel changes by itself.
VOLATILE = (
    r"(?:fs\.(?:dentry|inode|file|aio|quota|binfmt)|kernel\.(?:random|ns_last_pid|pty|hung|tainted|sched_|perf_)|"
    r"net\.netfilter\.nf_conntrack_(?:count|buckets)|debug|dev\.|sunrpc)"
)
FOLDERS = (
    "/lib/modules",
    "/run/netns",
    "/run/docker",
    "/run/containerd",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/etc/cni",
    "/etc/docker/key.json",
    "/opt/containerd",
)
CGROUPS = re.compile(r"rukpak|kube|docker|libpod|k8s\.io|containerd")
# Not etcd and kube-…: other control planes of this machine come and go, and those of a node have its cgroup.
LOOKED_AT = re.compile(r"^(kind|docker|containerd|runc|coredns|pause|buildah|podman|conmon|ctr|unshare)")


def main() -> None:
    packages.search_system_folders()
    for line in lines():
        print(line)


def lines() -> Iterator[str]:
    yield from _counted("process", _programs())
    yield from _shown("link", ["ip", "-brief", "link"], r"^\S+")
    yield from _shown("route", ["ip", "route", "show", "table", "all"], r".*?(?=\s+expires \S+|$)")
    for program in ("iptables-save", "ip6tables-save", "iptables-legacy-save", "ip6tables-legacy-save"):
        yield from _shown(program, [program], r"^[:-]\S+ .*?(?= \[|$)")
    mounted = Path("/proc/self/mountinfo").read_text().splitlines()
    yield from _counted("mount", (" ".join(line.split()[4:5]) for line in mounted))
    yield from sorted(f"cgroup {folder}" for folder in _cgroups())
    yield from _shown("setting", ["sysctl", "--all"], rf"(?!{VOLATILE}).*")
    yield from (f"folder {folder}" for folder in FOLDERS if Path(folder).exists())


def _programs() -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = entry.read_text().strip()
        except OSError:
            continue  # it ended while we looked
        if LOOKED_AT.match(name):
            yield name


def _cgroups() -> Iterator[Path]:
    """In both versions; those of the machine's services come and go."""
    for folder in [*Path("/sys/fs/cgroup").glob("*"), *Path("/sys/fs/cgroup").glob("*/*")]:
        if folder.is_dir() and CGROUPS.match(folder.name):
            yield folder


def _shown(what: str, command: list[str], pattern: str) -> Iterator[str]:
    try:
        shown = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    except FileNotFoundError:
        yield f"{what}: {command[0]} is not on PATH"
        return
    for line in sorted(shown.splitlines()):
        if found := re.match(pattern, line):
            yield f"{what} {found[0]}"


def _counted(what: str, names: Iterator[str]) -> Iterator[str]:
    yield from (f"{what} {name} x{count}" for name, count in sorted(Counter(names).items()))


if __name__ == "__main__":
    main()
