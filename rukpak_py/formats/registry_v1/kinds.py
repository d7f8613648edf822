"""The kinds of objects that a bundle may hold, and whether their objects live in a namespace.

Only the kind decides, never the group: a Role of any other group passes, and is treated as its namesake.
"""

from collections.abc import Mapping
from typing import Final

CSV: Final = "ClusterServiceVersion"
DEFINITION: Final = "CustomResourceDefinition"
AUTOSCALER: Final = "VerticalPodAutoscaler"

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
