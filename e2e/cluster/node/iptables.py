"""Our rules in iptables, and the removal of all that a node leaves there.

Texts for `iptables-restore --noflush`, made by pure functions. Ours stand in chains named RUKPAK-NODE;
kube-proxy's and kubelet's begin with KUBE-. A chain of the machine's own is never flushed.
"""

import re
import subprocess
from collections.abc import Iterator

from e2e.cluster.errors import ClusterError

CHAIN = "RUKPAK-NODE"
OURS = (CHAIN, "KUBE-")
FAMILIES = ("iptables", "ip6tables")


def rules_for(bridge: str, pods: str) -> str:
    """Let pods reach the machine, each other and, behind the machine's address, the world."""
    return f"""\
*filter
:{CHAIN} - [0:0]
-A {CHAIN} -i {bridge} -j ACCEPT
-A {CHAIN} -o {bridge} -j ACCEPT
-I INPUT -j {CHAIN}
-I FORWARD -j {CHAIN}
COMMIT
*nat
:{CHAIN} - [0:0]
-A {CHAIN} -s {pods} ! -d {pods} -j MASQUERADE
-A POSTROUTING -j {CHAIN}
COMMIT
"""


def removal_of(saved: str) -> str:
    """Make the text that removes our chains and the rules that jump to them from an `iptables-save`."""
    return "".join(_table_removal(table) for table in _tables(saved))


def strangers_in(saved: str) -> bool:
    """Say whether a kube-proxy or kubelet has been here."""
    return bool(re.search(rf"^:({'|'.join(OURS)})", saved, re.MULTILINE))


def save(family: str) -> str:
    done = subprocess.run([f"{family}-save"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""  # a kernel without IPv6 has no ip6tables


def restore(family: str, text: str) -> None:
    if not text:
        return
    command = [f"{family}-restore", "--noflush", "--wait", "10"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{family} refused our rules: {done.stderr.strip()}")


def remove_ours() -> None:
    for family in FAMILIES:
        restore(family, removal_of(save(family)))


def _tables(saved: str) -> Iterator[list[str]]:
    for block in re.findall(r"^(\*.*?)^COMMIT", saved, re.MULTILINE | re.DOTALL):
        yield block.splitlines()


def _table_removal(lines: list[str]) -> str:
    chains = [line[1:].split()[0] for line in lines if line.startswith(":")]
    ours = [chain for chain in chains if chain.startswith(OURS)]
    if not ours:
        return ""
    jumps = [line for line in lines if line.startswith("-A ") and _jumps_into(line, ours)]
    flushes = [f":{chain} - [0:0]" for chain in ours]
    deletions = [line.replace("-A ", "-D ", 1) for line in jumps if line.split()[1] not in ours]
    return "\n".join([lines[0], *flushes, *deletions, *(f"-X {chain}" for chain in ours), "COMMIT", ""])


def _jumps_into(line: str, chains: list[str]) -> bool:
    target = re.search(r"\s-[jg] (\S+)", line)
    return target is not None and target[1] in chains
