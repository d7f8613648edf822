"""What is about to be applied, as the gates see it."""

from collections.abc import Callable
from dataclasses import dataclass

from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import Resolution


@dataclass(frozen=True, kw_only=True)
class Candidate:
    desired: tuple[Desired, ...]
    resolution: Resolution
    has_namespace: Callable[[str], bool]
    install_namespace: str = ""  # where objects go that name none
