"""The Lease of the operator as a judgment reads it.

Its time is of the clock of the operator, and now that of the API server: a difference of some seconds means nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rukpak_py.cli.checks.results import Json

PATIENCE = timedelta(seconds=60)  # a leader renews every other second


@dataclass(frozen=True, kw_only=True)
class LeaseState:
    holder: str  # empty: none
    age: timedelta | None  # since it was renewed; None: never

    @property
    def is_fresh(self) -> bool:
        return bool(self.holder) and self.age is not None and self.age < PATIENCE


def lease_state(lease: Json | None, now: datetime) -> LeaseState:
    spec: dict[str, Any] = (lease or {}).get("spec") or {}
    renewed = spec.get("renewTime")
    age = now - datetime.fromisoformat(renewed) if renewed else None
    return LeaseState(holder=spec.get("holderIdentity") or "", age=age)
