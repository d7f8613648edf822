"""The installed content as one value: the newest entry of the history and the fields of the status beside it.

Entries of former releases read as those of today: they count as healthy, and revisions that they do not record are
counted from the oldest. What the original operator installed has no entry, because that operator kept no history.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation, InstallOutcome, KeptObject
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.schema import ApiType


class Installed(ApiType, frozen=True, kw_only=True):
    """`digest`: of its content. `applied_digest`: of its objects. `history`: its own entry, then the former ones."""

    bundle: str
    digest: str = ""
    applied_digest: str = ""
    kept: tuple[KeptObject, ...] = ()
    history: tuple[Installation, ...] = ()

    @property
    def entry(self) -> Installation | None:
        """Newest entry of the history. None: the original operator installed the content."""
        return self.history[0] if self.history else None

    @property
    def template(self) -> BundleTemplate | None:
        """Template of the installed Bundle, where it was recorded."""
        return self.entry.template if self.entry is not None and self.entry.bundle == self.bundle else None

    @property
    def is_of_original_operator(self) -> bool:
        """With the first entry it is over."""
        return not self.history

    @property
    def was_taken_over(self) -> bool:
        """The original operator had installed it, or something before it."""
        return self.is_of_original_operator or any(entry.taken_over for entry in self.history)


def installed_of(status: BundleDeploymentStatus) -> Installed | None:
    """None: nothing is installed."""
    bundle = status.active_bundle or next((entry.bundle for entry in status.history), "")
    if not bundle:
        return None
    return Installed(
        bundle=bundle,
        digest=status.digest,
        applied_digest=status.applied_digest,
        kept=status.kept,
        history=read_history(status.history),
    )


def installed_as(status: BundleDeploymentStatus, bundle: str) -> Installation | None:
    """The installation, where the Bundle of this name brought it."""
    installed = installed_of(status)
    entry = installed.entry if installed is not None and installed.bundle == bundle else None
    return entry if entry is not None and entry.bundle == bundle else None


def read_history(history: tuple[Installation, ...]) -> tuple[Installation, ...]:
    """With revisions and outcomes in all of its entries."""
    return tuple(replace(entry, outcome=entry.outcome or InstallOutcome.HEALTHY) for entry in with_revisions(history))


def with_revisions(history: Iterable[Installation]) -> tuple[Installation, ...]:
    numbered = list[Installation]()
    revision = 0
    for entry in reversed(tuple(history)):
        revision = entry.revision or revision + 1
        numbered.append(replace(entry, revision=revision))
    return tuple(reversed(numbered))
