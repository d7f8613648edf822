"""Revisions of a BundleDeployment: those of its history, and the upgrade that has begun or that waits.

An upgrade has no revision of its own before all of its content is applied; it is shown as the next one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.install_options import InstallOptions, installed_options, options_of
from rukpak_py.api.installed import Installed, installed_of


class RevisionState(StrEnum):
    WAITS = "waits"
    BEGUN = "begun"
    INSTALLED = "installed"
    FORMER = "former"


@dataclass(frozen=True, kw_only=True)
class Revision:
    """`outcome`: as in the history; of an upgrade that waits the reason. `time`: when it was installed, or began."""

    revision: int
    state: RevisionState
    outcome: str = ""
    bundle: str
    version: str = ""
    generation: int = 0
    digest: str
    time: str = ""
    is_restorable: bool = False


def revisions_of(deployment: BundleDeployment) -> list[Revision]:
    """The newest first."""
    installed = installed_of(deployment.status)
    if installed is None:
        return []
    options = options_of(deployment.spec)
    former = [_recorded(entry, at, installed, options) for at, entry in enumerate(installed.history)]
    return [*_upgrade(deployment.status, installed), *former]


def _upgrade(status: BundleDeploymentStatus, installed: Installed) -> Iterator[Revision]:
    entry = installed.entry
    revision = entry.revision + 1 if entry is not None else 1
    if (pending := status.pending_upgrade) is not None:
        yield Revision(
            revision=revision,
            state=RevisionState.WAITS,
            outcome=pending.reason,
            bundle=pending.bundle,
            version=pending.version,
            generation=pending.wanted_since,
            digest=pending.content,
            time=pending.since,
        )
    begun = status.upgrade
    if begun is not None and (entry is None or begun.revision == entry.revision):
        yield Revision(
            revision=revision,
            state=RevisionState.BEGUN,
            bundle=begun.bundle,
            digest=begun.content,
            time=begun.started_at,
        )


def _recorded(entry: Installation, at: int, installed: Installed, options: InstallOptions) -> Revision:
    is_active = at == 0 and entry.bundle == installed.bundle
    return Revision(
        revision=entry.revision,
        state=RevisionState.INSTALLED if is_active else RevisionState.FORMER,
        outcome=entry.outcome,
        bundle=entry.bundle,
        version=entry.version,
        generation=entry.generation,
        digest=entry.digest,
        time=entry.time,
        is_restorable=entry.template is not None and installed_options(entry, options) is not None,
    )
