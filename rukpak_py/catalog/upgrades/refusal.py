"""Why a question to a catalog has no answer, and what to ask instead."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePath
from rukpak_py.core.text import named, quoted, shown

_SHOWN: Final = 3


class Cause(StrEnum):
    UNKNOWN_PACKAGE = "UnknownPackage"
    UNKNOWN_CHANNEL = "UnknownChannel"
    NO_DEFAULT_CHANNEL = "NoDefaultChannel"
    UNKNOWN_BUNDLE = "UnknownBundle"
    INVALID_RANGE = "InvalidRange"
    NO_VERSION_IN_RANGE = "NoVersionInRange"
    NO_SUCCESSOR = "NoSuccessor"
    AMBIGUOUS_BUNDLE = "AmbiguousBundle"
    EMPTY_CHANNEL = "EmptyChannel"  # no entry that could be installed


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """`asked` is what has no answer: a name, a version or a range.

    `alternatives` depend on the cause: close names of packages, all channels, the versions that could be had, bundles
    with successors, the bundles that are meant. `nearest` is a path to a head from the nearest version that has one.
    """

    cause: Cause
    package: str
    asked: str = ""
    channels: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    problem: str = ""
    nearest: UpgradePath | None = None
    elsewhere: tuple[tuple[str, str], ...] = ()  # other channels, and the bundle that each upgrades it to
    is_known: bool = True  # whether the catalog has the bundle that nothing upgrades

    @property
    def message(self) -> str:
        asked, package = quoted(self.asked), quoted(self.package)
        of_channels = f"{'channel' if len(self.channels) == 1 else 'channels'} {named(self.channels)}"
        match self.cause:
            case Cause.UNKNOWN_PACKAGE:
                return f"package {package} not found"
            case Cause.UNKNOWN_CHANNEL:
                return f"package {package} has no channel {asked}"
            case Cause.NO_DEFAULT_CHANNEL:
                return f"package {package} has no default channel"
            case Cause.UNKNOWN_BUNDLE:
                return f"package {package} has no bundle or version {asked}"
            case Cause.INVALID_RANGE:
                return f"{asked} is not a valid range of versions: {shown(self.problem)}"
            case Cause.NO_VERSION_IN_RANGE:
                return f"no version of package {package} that can be installed from {of_channels} is in range {asked}"
            case Cause.NO_SUCCESSOR:
                them = "it" if len(self.channels) == 1 else "them"
                unknown = f"{asked} is not in {of_channels} of package {package}, and in no skipRange of {them}"
                return f"no entry of package {package} in {of_channels} upgrades {asked}" if self.is_known else unknown
            case Cause.AMBIGUOUS_BUNDLE:
                return f"several bundles of package {package} have version {asked}"
            case Cause.EMPTY_CHANNEL:
                return f"no bundle of package {package} can be installed from {of_channels}"

    @property
    def remedy(self) -> str:
        """Advice on the next question; empty: there is none."""
        listed = named(self.alternatives)
        if self.cause is Cause.NO_SUCCESSOR:
            return self._way_out()
        if not listed:
            return ""
        match self.cause:
            case Cause.UNKNOWN_PACKAGE | Cause.UNKNOWN_BUNDLE:
                return f"did you mean {listed}?"
            case Cause.UNKNOWN_CHANNEL | Cause.NO_DEFAULT_CHANNEL:
                return f"choose one of its channels: {listed}"
            case Cause.NO_VERSION_IN_RANGE:
                return f"versions to choose from: {listed}"
            case Cause.AMBIGUOUS_BUNDLE:
                return f"name one of the bundles: {listed}"
            case _:
                return ""

    def _way_out(self) -> str:
        found = [f"bundles that can be upgraded: {named(self.alternatives)}"] if self.alternatives else []
        if self.nearest is not None and self.nearest.steps:
            found.insert(0, f"the nearest bundle with a path to {self.nearest.target} is {self.nearest.source}")
        elif self.nearest is not None:
            found.insert(0, f"the nearest bundle is the head {self.nearest.source}")
        found[:0] = [f"channel {channel} upgrades it to {bundle}" for channel, bundle in self.elsewhere[:_SHOWN]]
        return "; ".join(found)
