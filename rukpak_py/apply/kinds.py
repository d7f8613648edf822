"""Whether a kind can be worked with: one of a few states, from what discovery, the CRDs and our own records say.

Discovery alone proves nothing: right after a restart the API server answers 200 without any group of a CRD. A caller
that takes this for "does not exist" creates objects that exist.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from rukpak_py.api.names import REGISTRY_CLASS
from rukpak_py.apply.order import is_builtin
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Head, ObjectKey
from rukpak_py.core.text import joined, named
from rukpak_py.kube.resources import Resource

CLUSTER_SERVICE_VERSION = GroupKind("operators.coreos.com", "ClusterServiceVersion")
NAMED_PER_KIND = 3  # objects of a missing kind, in a line


class KindState(Enum):
    SERVED = auto()
    NEW = auto()  # this rendering brings its CRD with this version: objects of it come after the CRD
    UNSERVED = auto()  # it exists, and the server does not show it at the moment: its objects are held back
    GONE = auto()  # it was used, and its CRD or API service is gone with all objects
    MISSING = auto()  # neither the cluster nor the content has it: what needs it cannot be installed


@dataclass(frozen=True, kw_only=True, slots=True)
class KindFacts:
    is_served: bool  # discovery shows this version
    is_brought: bool = False  # a CRD of the same content defines this version
    is_recorded: bool = False  # the status says that objects of the kind may be installed
    is_defined: bool = False  # a CRD in the cluster defines the kind ...
    is_version_defined: bool = False  # ... and serves this version
    may_be_hidden: bool = True  # no CRD: a built-in or aggregated kind that is not proven to be gone


def kind_state(facts: KindFacts) -> KindState:
    match facts:
        case KindFacts(is_served=True):
            return KindState.SERVED
        case KindFacts(is_version_defined=True):
            return KindState.UNSERVED
        case KindFacts(is_brought=True, is_defined=True):
            return KindState.NEW  # the CRD is there and the version comes with this content
        case KindFacts(is_defined=True):
            return KindState.MISSING  # the CRD does not have this version
        case KindFacts(is_recorded=True, may_be_hidden=True):
            return KindState.UNSERVED
        case KindFacts(is_brought=True):
            return KindState.NEW
        case KindFacts(is_recorded=True):
            return KindState.GONE
        case _:
            return KindState.MISSING


NOT_THERE = frozenset({KindState.MISSING, KindState.GONE})


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The resource of each kind of some content, and whether it can be used now."""

    states: Mapping[GroupVersionKind, KindState]
    resources: Mapping[GroupVersionKind, Resource]  # of every kind whose scope is known
    missing: tuple[Head, ...] = ()  # objects of kinds that neither the server nor the content has

    def of(self, *states: KindState) -> frozenset[GroupKind]:
        return frozenset(gvk.group_kind for gvk, state in self.states.items() if state in states)

    @property
    def knows_all_kinds(self) -> bool:
        """Whether every object is known by its key: without its kind's scope it has none."""
        return self.states.keys() <= self.resources.keys()

    @property
    def served(self) -> list[Resource]:
        return [self.resources[gvk] for gvk, state in self.states.items() if state is KindState.SERVED]


def missing_kinds_text(missing: Iterable[Head]) -> str:
    """The original's text, one entry per object, without its internals."""
    entries = [
        f'resource mapping not found for name: "{head.name}" namespace: "{head.namespace}" from "": '
        f'no matches for kind "{head.gvk.kind}" in version "{head.gvk.api_version}"\nensure CRDs are installed first'
        for head in missing
    ]
    return f"required resource not found: [{', '.join(entries)}]"


def missing_kinds_brief(missing: Iterable[Head], broken_service: Callable[[str], str] = lambda _: "") -> str:
    """The missing kinds on one line. `broken_service`: of a group, which is why its kinds are not served."""
    by_kind: dict[GroupVersionKind, list[ObjectKey]] = {}
    for head in missing:
        by_kind.setdefault(head.gvk, []).append(head.key)
    return joined(
        f"{named(keys, NAMED_PER_KIND)}: the cluster has no kind {gvk.kind} ({gvk.api_version}); "
        f"{_advice(gvk, broken_service(gvk.group))}"
        for gvk, keys in by_kind.items()
    )


def _advice(gvk: GroupVersionKind, broken_service: str) -> str:
    if broken_service:
        return f"{broken_service}; repair or remove it"
    if gvk.group_kind == CLUSTER_SERVICE_VERSION:
        return f"it makes the content an OLM bundle: set both provisioner classes to {REGISTRY_CLASS}"
    if is_builtin(gvk.group):
        return "use a version that the cluster serves, or remove it from the bundle"
    return "install its CRD or add it to the bundle"
