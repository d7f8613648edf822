"""`status.kinds`: the kinds of which a deployment may own objects, and with that, what is watched for it.

A kind is watched in all namespaces. With `by_namespace`, some are watched only where a deployment owns objects of them:
RBAC knows neither labels nor metadata-only requests, so a right to watch all Secrets is one to read all of them. Of
these kinds the namespaces are recorded, before the first write as the kind itself, so that the next process knows where
to look before it judges anything. A status that another mode has written does not name them: then the content does,
once it was rendered.
"""

from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from rukpak_py.api.accounts import Mode
from rukpak_py.api.bundle_deployment import InstalledKind
from rukpak_py.apply.inventory import Watched
from rukpak_py.core.objects import GroupKind, GroupVersionKind
from rukpak_py.kube.resources import SECRETS

BY_NAMESPACE = {Mode.CLASSIC: frozenset[GroupKind](), Mode.NARROW: frozenset({SECRETS.group_kind})}


def kinds_of(
    places: Iterable[tuple[GroupVersionKind, str]], by_namespace: Collection[GroupKind]
) -> tuple[InstalledKind, ...]:
    """Kinds of objects, which are given by kind and namespace."""
    versions, namespaces = dict[GroupKind, str](), dict[GroupKind, set[str]]()
    for gvk, namespace in places:
        versions[gvk.group_kind] = gvk.version
        if gvk.group_kind in by_namespace:
            namespaces.setdefault(gvk.group_kind, set()).add(namespace)
    return tuple(
        InstalledKind(
            group=kind.group, version=version, kind=kind.kind, namespaces=tuple(sorted(namespaces.get(kind, ())))
        )
        for kind, version in sorted(versions.items())
    )


def union(former: Iterable[InstalledKind], latter: Iterable[InstalledKind]) -> tuple[InstalledKind, ...]:
    """A kind of both has the version of the latter."""
    found: dict[GroupKind, InstalledKind] = {}
    for kind in (*former, *latter):
        known = found.get(kind.group_kind)
        namespaces = tuple(sorted({*known.namespaces, *kind.namespaces})) if known is not None else kind.namespaces
        found[kind.group_kind] = replace(kind, namespaces=namespaces)
    return tuple(kind for _, kind in sorted(found.items()))


def are_recorded(kinds: Iterable[InstalledKind], recorded: Iterable[InstalledKind]) -> bool:
    """Whether all these kinds are, with their namespaces."""
    known = {kind.group_kind: frozenset(kind.namespaces) for kind in recorded}
    return all(kind.group_kind in known and known[kind.group_kind].issuperset(kind.namespaces) for kind in kinds)


def watches_of(kinds: Iterable[InstalledKind], by_namespace: Collection[GroupKind]) -> Iterator[Watched]:
    for kind in kinds:
        for namespace in kind.namespaces if kind.group_kind in by_namespace else ("",):
            yield Watched(kind.group_kind, namespace)
