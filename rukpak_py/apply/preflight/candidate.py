"""What is about to be applied, as the gates see it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.results import Failure
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.format import Requirement


@dataclass(frozen=True, kw_only=True)
class Candidate:
    desired: tuple[Desired, ...]
    resolution: Resolution
    has_namespace: Callable[[str], bool]
    is_served: Callable[[GroupVersionKind], bool]
    requirements: Sequence[Requirement] = ()
    install_namespace: str = ""  # where objects go that name none
    watch_namespaces: Sequence[str] = ()  # as the spec names them
    may_bring_namespaces: bool = True  # whether content of this class can hold a Namespace
    makes_namespace: str = ""  # it is made, when it is missing, before anything else
    wrong_certificates: Sequence[Failure] = ()  # of what the content asks of the signer
