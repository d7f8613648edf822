"""Errors while a cluster is brought up.

ClusterError           says what happened and what to do next
 └── ComponentError    a component ended or never became ready; carries the tail of its log
      └── PortTakenError   the same, because another process took a port between our choice and its use
"""


class ClusterError(Exception):
    pass


class ComponentError(ClusterError):
    pass


class PortTakenError(ComponentError):
    pass
