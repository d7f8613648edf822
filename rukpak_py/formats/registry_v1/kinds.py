"""The kinds of objects that a bundle may hold, and whether their objects live in a namespace.

Only the kind decides, never the group: a Role of any other group passes, and is treated as its namesake.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from rukpak_py.formats.crds.written import DEFINITION

CSV: Final = "ClusterServiceVersion"
AUTOSCALER: Final = "VerticalPodAutoscaler"

OLD_DEFINITIONS: Final = "apiextensions.k8s.io/v1beta1"  # the version of definitions that Kubernetes 1.22 removed

# VerticalPodAutoscalers live in a namespace; the reference renderer's table says otherwise, and parity needs its table.
SUPPORTED: Final[Mapping[str, bool]] = {
    CSV: True,
    DEFINITION: False,
    "ClusterRole": False,
    "ClusterRoleBinding": False,
    "ConfigMap": True,
    "ConsoleCLIDownload": False,
    "ConsoleLink": False,
    "ConsolePlugin": False,
    "ConsoleQuickStart": False,
    "ConsoleYAMLSample": False,
    "NetworkPolicy": True,
    "PodDisruptionBudget": True,
    "PodMonitor": True,
    "PriorityClass": False,
    "PrometheusRule": True,
    "Role": True,
    "RoleBinding": True,
    "Secret": True,
    "Service": True,
    "ServiceAccount": True,
    "ServiceMonitor": True,
    AUTOSCALER: False,
}

_LIKENESS: Final = 0.85  # a slip or two; no two supported kinds that mean different things are so close to a real one


@lru_cache(maxsize=1024)  # a bundle may have thousands of one kind
def near_kind(kind: str) -> str:
    """The supported kind that was probably meant; empty when none comes near."""
    known = {supported.lower(): supported for supported in SUPPORTED}
    (near,) = get_close_matches(kind.lower(), known, n=1, cutoff=_LIKENESS) or [""]
    return known[near] if near and kind not in SUPPORTED else ""
