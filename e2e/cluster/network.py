"""Addresses of a cluster."""

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Network:
    """Where the API server listens, which addresses Services get, and, with a node, which its pods get."""

    address: str = "127.0.0.1"
    services: str = "10.96.0.0/16"
    pods: str = ""

    @property
    def api_service_address(self) -> str:
        """The address of the Service `kubernetes`: always the first of the range."""
        return str(next(ipaddress.ip_network(self.services).hosts()))

    @property
    def has_node(self) -> bool:
        return bool(self.pods)


LOOPBACK = Network()
