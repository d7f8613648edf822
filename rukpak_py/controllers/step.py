"""What one attempt to install came to: what is to be said, and when to look again."""

from dataclasses import dataclass

from rukpak_py.controllers.deployment_status import Report
from rukpak_py.controllers.outcome import Outcome
from rukpak_py.core.objects import ObjectKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """`report` None: nothing to say yet, a wait that usually ends at once."""

    outcome: Outcome
    report: Report | None = None
    is_finished: bool = False  # applied, healthy and pruned: former Bundles may go
    is_blocked: bool = False  # a kind or a namespace is missing: the cluster's watch wakes it
    contested: frozenset[ObjectKey] = frozenset()  # somebody else's: woken when a watch shows them going
    wrote_nothing: bool = False  # refused before the first write: what is installed is untouched
