"""Parts of `DeploymentState`, each with one subject and methods that say what happened.

Waits, facts that are not told yet, the last failed attempt and failed renderings: why something is not tried again
yet. Losing one of them costs calls, never correctness.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import RecordedValues
from rukpak_py.api.deployment_spec import CrdSafety
from rukpak_py.api.reading import to_json
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.certificates.wanted import WantedCertificates
from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import NO_CHANGE, NO_PROGRESS, Fact, Progress, Reached
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.objects import GroupKind, ObjectKey, canonical_json
from rukpak_py.formats.format import OFFLINE_RENDERING, ContentDescription, Rendering
from rukpak_py.kube.discovery_documents import Served
from rukpak_py.kube.resources import CRDS, NAMESPACES

NO_WARNINGS: Mapping[ObjectKey, str] = MappingProxyType({})


class ContentKey(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Identity of a deployment's content: the objects that it wants, and whether others are deleted.

    A key ends up in `status.appliedDigest` as canonical JSON, under the names of its fields. A field that has its
    default is left out, so a release that adds one with a default changes no digest of a deployment that does not use
    it.
    """

    deployment: str  # its uid
    digest: str  # of the Bundle's content
    install_namespace: str = ""  # empty: the content chooses
    makes_namespace: bool = False
    prunes: bool = True  # switched on again, it has to look for what was kept meanwhile
    options: str = ""  # digest of the other options; empty: each has its default
    bundle_class: str = ""  # where it is not the class of the deployment

    def has_same_objects(self, other: "ContentKey") -> bool:
        """Whether what left the content is deleted changes none of its objects."""
        return replace(self, prunes=other.prunes) == other

    @property
    def job(self) -> tuple[str, ...]:
        """The key of its rendering among the jobs, which begins with the uid."""
        return self.deployment, canonical_json(to_json(self)).decode()


Subject: TypeAlias = tuple[ContentKey, Account | None, CrdSafety]  # of an answer that holds


class Passed(NamedTuple):
    """That a gate let content pass. `warnings`: about its objects, not told yet."""

    subject: Subject
    warnings: Mapping[ObjectKey, str] = NO_WARNINGS


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentFacts:
    """Facts of content beside its objects; known once it was rendered."""

    namespace: str = ""  # by its own choice; empty: it does not choose
    description: ContentDescription | None = None  # what it says about itself
    rendering: str = ""  # its digest, where a second rendering may differ
    made: Rendering = OFFLINE_RENDERING  # how, then
    delete_hooks: bool = False
    unmatched_patches: tuple[int, ...] = ()
    certificates: WantedCertificates = field(default_factory=WantedCertificates)


_NOT_DUE = Fact(cause=Cause.NOT_DUE)
# Others may have filled these since they were created.
FILLED_BY_OTHERS = frozenset(
    {
        NAMESPACES.group_kind,
        CRDS.group_kind,
        GroupKind("", "PersistentVolume"),
        GroupKind("", "PersistentVolumeClaim"),
    }
)


class PendingWaits:
    """Times at which waits began: a stage goes on without what it waits for when the wait lasts."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[ContentKey | None, float]] = {}

    def waited(self, what: str, now: float, content: ContentKey | None = None) -> float:
        """Seconds from the first call for this content on, until `over`."""
        if what not in self._since or self._since[what][0] != content:
            self._since[what] = content, now
        return now - self._since[what][1]

    def over(self, *what: str) -> None:
        for one in what:
            self._since.pop(one, None)


class QuietFacts:
    """Since when, by the loop, each cause was found at every look. What is not told yet stands in no status."""

    def __init__(self) -> None:
        self._since: dict[Cause, float] = {}

    def found(self, facts: Iterable[Fact], now: float) -> None:
        """All that the last look has found."""
        self._since = {fact.cause: self._since.get(fact.cause, now) for fact in facts}

    def since(self, cause: Cause) -> float | None:
        return self._since.get(cause)


class FailedAttempt:
    """Result of the last attempt to install content, if it failed or may not begin: looks report the same until the
    next attempt.
    """

    def __init__(self) -> None:
        self._content: ContentKey | None = None
        self._progress = NO_PROGRESS

    def keep(self, content: ContentKey, progress: Progress) -> None:
        """Keep a failure without its Events, which are reported once. A stage that wants another look is not kept.

        An upgrade that waits stays with its change of the status, which may have come too soon to be written.
        """
        wants_look = any(fact.cause is Cause.LOOK_AGAIN for fact in progress.facts)
        is_open = progress.reached < Reached.APPLIED and not wants_look
        has_failed = is_open and any(fact.row.kind in {Kind.FAILURE, Kind.HOLD} for fact in progress.facts)
        lasting = (fact for fact in progress.facts if fact.row.kind is not Kind.EVENT)
        self._content = content if has_failed else None
        is_on_hold = any(fact.row.kind is Kind.HOLD for fact in progress.facts)
        change = progress.change if is_on_hold else NO_CHANGE
        self._progress = Progress(facts=(*lasting, _NOT_DUE), change=change, reached=progress.reached)

    def forget(self) -> None:
        """The content is not looked at: its next look finds out anew."""
        self._content = None

    def of(self, content: ContentKey) -> Progress | None:
        return self._progress if self._content == content else None


class TriedOut:
    """Objects of content that the server accepted in a dry-run. It is asked once for each object while looks go on with
    the rest, and anew after a failure.
    """

    def __init__(self) -> None:
        self._content: ContentKey | None = None
        self._keys: set[ObjectKey] = set()

    def of(self, content: ContentKey) -> set[ObjectKey]:
        if self._content != content:
            self._content, self._keys = content, set()
        return self._keys

    def forget(self) -> None:
        self._content = None

    def copied(self) -> "TriedOut":
        copy = TriedOut()
        copy._content, copy._keys = self._content, set(self._keys)
        return copy


class UnmadeBundle(NamedTuple):
    """Reason why the Bundle of this template could not be made at the last attempt."""

    template: str
    fact: Fact


class CreatedByThisInstall:
    """Objects that a refused first install has created so far, by uid: only these are withdrawn."""

    def __init__(self) -> None:
        self._uids: dict[ObjectKey, str] = {}

    def record(self, keys: Iterable[ObjectKey], uids: Mapping[ObjectKey, str]) -> None:
        """`uids`: those of applied objects. An object that is created once is not ours: it has none, and stays."""
        self._uids = {key: uids[key] for key in keys if key in uids and key.group_kind not in FILLED_BY_OTHERS}

    def among(self, owned: Mapping[ObjectKey, ObservedObject]) -> dict[ObjectKey, ObservedObject]:
        return {key: owned[key] for key, uid in self._uids.items() if key in owned and owned[key].uid == uid}

    def clear(self) -> None:
        self._uids.clear()


class FormerObjects:
    """Names of former content. What the watches do not show of them is asked for before pruning ends."""

    def __init__(self) -> None:
        self.keys: set[ObjectKey] = set()
        self.is_complete = False  # names of content that an earlier process installed were added

    def add(self, keys: Iterable[ObjectKey]) -> None:
        self.keys.update(keys)

    def wanted_again(self, keys: Collection[ObjectKey]) -> None:
        self.keys.difference_update(keys)

    def clear(self) -> None:
        self.keys.clear()


@dataclass(slots=True)
class UsedValues:
    """The Secrets and ConfigMaps that its chart takes values from."""

    objects: frozenset[ValuesObject] = frozenset()
    latest: tuple[RecordedValues, ...] = ()  # as they were found last

    def refer_to(self, objects: frozenset[ValuesObject]) -> bool:
        """Whether they are others than before."""
        if objects == self.objects:
            return False
        self.objects = objects
        if not objects:
            self.latest = ()
        return True


LOOKED_UP_SECONDS = 60.0  # between two renderings of a chart that failed after it had looked objects up
LOST_SECONDS = 600.0  # and of one that has come out differently then
PAUSE_SECONDS = 5.0  # and of content whose rendering lacked a right or an answer: each event would begin another
REMEMBERED_ERRORS = 32  # of one deployment: edits that were rendered and are of no interest any more


class FailedAfterLookupsError(ContentError):
    """A failure that may be about looked-up objects: other objects may give another answer."""


class Loss(NamedTuple):
    content: ContentKey
    installed: str  # the digest of what was installed
    lacks_values: bool  # they may come back


class _Wrong(NamedTuple):
    error: RukPakError
    served: Served | None  # by the cluster, where the error may be about that
    until: float  # by `monotonic`


@dataclass(slots=True)
class RenderingFailures:
    _lost: dict[Loss, float] = field(default_factory=dict)  # until when, by `monotonic`
    _errors: dict[ContentKey, _Wrong] = field(default_factory=dict)

    def lose(self, loss: Loss, *, sees_cluster: bool) -> None:
        """`sees_cluster`: other objects may give what was installed again."""
        self._lost[loss] = monotonic() + LOST_SECONDS if sees_cluster else inf

    def is_lost(self, loss: Loss) -> bool:
        return bool(self._lost) and monotonic() < self._lost.get(loss, -inf)

    def add_error(self, content: ContentKey, error: RukPakError, served: Served | None) -> None:
        """Keep the error until the cluster serves other kinds, if `served` is given; after lookups for a while only."""
        self._errors.pop(content, None)
        self._errors[content] = _Wrong(error, served, monotonic() + _seconds(error))
        if len(self._errors) > REMEMBERED_ERRORS:
            del self._errors[next(iter(self._errors))]  # what was rendered longest ago

    def error_of(self, content: ContentKey, served: Served | None) -> RukPakError | None:
        wrong = self._errors.get(content)
        return wrong.error if wrong is not None and wrong.served is served and monotonic() < wrong.until else None


def _seconds(error: RukPakError) -> float:
    match error:
        case FailedAfterLookupsError():
            return LOOKED_UP_SECONDS
        case ContentError():
            return inf
        case _:
            return PAUSE_SECONDS
