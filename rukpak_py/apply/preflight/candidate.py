"""What is about to be applied, as the gates see it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.plan import Change, Plan
from rukpak_py.apply.results import DryRun, Failure
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.formats.format import OlmIdentity, Requirement

StillExists: TypeAlias = Callable[[bool], Awaitable[bool]]  # the argument: there is reason to doubt it
AskServer: TypeAlias = Callable[[Plan, Callable[[Change], bool]], Awaitable[DryRun]]  # the function: what to skip
NO_PLAN = Plan(changes=(), prune=())


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """The last three questions cost calls."""

    desired: tuple[Desired, ...]
    resolution: Resolution
    requirements: Sequence[Requirement] = ()
    olm: OlmIdentity | None = None  # of a bundle of OLM
    install_namespace: str = ""  # where objects go that name none
    watch_namespaces: Sequence[str] = ()  # as the spec names them
    may_bring_namespaces: bool = True  # whether content of this class can hold a Namespace
    makes_namespace: str = ""  # it is made, when it is missing, before anything else
    wrong_certificates: Sequence[Failure] = ()  # of what the content asks of the signer
    is_installed: bool = False  # with these options
    is_upgrade: bool = False  # of something else that is installed

    plan: Plan = NO_PLAN  # once looked at
    returning: Mapping[ObjectKey, str] = field(
        default_factory=dict
    )  # free names, and the deployments that fill them again

    has_namespace: Callable[[str], bool]
    broken_service: Callable[[str], str] = lambda _: ""  # of a group: which API service is not available, and why
    itself: frozenset[ObjectKey] = frozenset()  # the deployment, and the Bundles that are its own
    is_served: Callable[[GroupVersionKind], bool]
    had: Callable[[ObjectKey], bool]  # whether the deployment had it, or may have had
    still_exists: StillExists
    managed_by_olm: Callable[[OlmIdentity], Awaitable[list[str]]]  # objects of OLM that are about this package
    dry_run: AskServer
