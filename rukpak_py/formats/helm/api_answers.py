"""Answers to helm's questions to an API server: kinds from a `ClusterView`, objects by `look_up`.

Only what `helm template` asks is known here: the version, the discovery documents, objects and lists, by GET. For each
lookup helm reads the document of the group version first, to find the name of the resource; a group version that is not
there ends a rendering, a kind that it lacks finds nothing.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus
from itertools import groupby
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import orjson

from rukpak_py.formats.helm.cluster_view import (
    LOOKUP_STATUSES,
    ClusterView,
    LookedUp,
    LookUp,
    Lookup,
    ServedKind,
    ServedVersion,
)

JSON: Final = "application/json"
AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATED_GROUP: Final = "apidiscovery.k8s.io"
_VERBS: Final = ("get", "list")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[^/%\x00-\x20\x7f]{1,253}")


class ApiAnswer(NamedTuple):
    status: HTTPStatus
    body: bytes
    content_type: str = JSON


class ApiAnswers:
    """`look_up` is asked for kinds that the cluster serves; of those that only the chart brings there is no object."""

    def __init__(self, view: ClusterView, served_by_cluster: ClusterView, look_up: LookUp) -> None:
        self._view = view
        self._versions = {one.name: one for one in view.served}
        self._there = {(one.name, kind.plural) for one in served_by_cluster.served for kind in one.kinds}
        self._look_up = look_up

    def answer(self, path: str, accept: str) -> ApiAnswer:
        """`path` without a query."""
        match path.split("/"):
            case ["", "version"]:
                return ApiAnswer(HTTPStatus.OK, self._view.version)
            case ["", "api" | "apis" as root]:
                if _AGGREGATED_GROUP not in accept:  # a lookup of a kind that does not exist
                    return _status(HTTPStatus.NOT_FOUND, "NotFound", "the kind does not exist")
                wanted = [one for one in self._view.served if bool(one.group) == (root == "apis")]
                return ApiAnswer(HTTPStatus.OK, orjson.dumps(_groups(wanted)), AGGREGATED)
            case ["", "api", version, *rest]:
                return self._below(version, rest)
            case ["", "apis", group, version, *rest]:
                return self._below(f"{group}/{version}", rest)
            case _:
                return _status(HTTPStatus.NOT_FOUND, "NotFound", "there is nothing at this path")

    def _below(self, name: str, rest: list[str]) -> ApiAnswer:
        version = self._versions.get(name)
        if version is None:
            return _status(HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource")
        if not rest:
            if version.is_stale:
                text = f"the API service of {name} does not answer"
                return _status(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", text)
            return ApiAnswer(
                HTTPStatus.OK,
                orjson.dumps(
                    {
                        "kind": "APIResourceList",
                        "apiVersion": "v1",
                        "groupVersion": version.name,
                        "resources": [
                            {
                                "name": kind.plural,
                                "singularName": kind.kind.lower(),
                                "namespaced": kind.namespaced,
                                "kind": kind.kind,
                                "verbs": _VERBS,
                            }
                            for kind in version.kinds
                        ],
                    }
                ),
            )
        lookup = _lookup_of(version, [unquote(part) for part in rest])
        if lookup is None:
            return _status(HTTPStatus.NOT_FOUND, "NotFound", "there is nothing at this path")
        return self._looked_up(version, lookup)

    def _looked_up(self, version: ServedVersion, lookup: Lookup) -> ApiAnswer:
        is_there = (version.name, lookup.plural) in self._there
        found = self._look_up(lookup) if is_there else _nothing(version, lookup)
        if found.status not in LOOKUP_STATUSES:
            return _status(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", "the answer is not one of a lookup")
        return ApiAnswer(HTTPStatus(found.status), found.body)


def status_body(status: int, reason: str, message: str) -> bytes:
    """A `Status`, as the API server answers with when it fails."""
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": int(status),
        }
    )


def _status(status: HTTPStatus, reason: str, message: str) -> ApiAnswer:
    return ApiAnswer(status, status_body(status, reason, message))


def _nothing(version: ServedVersion, lookup: Lookup) -> LookedUp:
    if lookup.name:
        return LookedUp(HTTPStatus.NOT_FOUND, status_body(HTTPStatus.NOT_FOUND, "NotFound", "it does not exist"))
    kind = next(one.kind for one in version.kinds if one.plural == lookup.plural)
    empty = {"apiVersion": version.name, "kind": f"{kind}List", "metadata": {"resourceVersion": ""}, "items": []}
    return LookedUp(HTTPStatus.OK, orjson.dumps(empty))


def _lookup_of(version: ServedVersion, parts: list[str]) -> Lookup | None:
    """None: the API server has no such path either, or no such object can exist."""
    namespace = ""
    match parts:
        case ["namespaces", namespace, plural]:
            name = ""
        case ["namespaces", namespace, plural, name]:
            if not name:
                return None
        case [plural]:
            name = ""
        case [plural, name]:
            if not name:
                return None
        case _:
            return None
    kind = next((one for one in version.kinds if one.plural == plural), None)
    if kind is None or not _fits(kind, namespace, name):
        return None
    return Lookup(version.group, version.version, plural, namespace, name)


def _fits(kind: ServedKind, namespace: str, name: str) -> bool:
    if namespace and not (kind.namespaced and _NAMESPACE.fullmatch(namespace)):
        return False
    if not name:
        return True
    return bool(_NAME.fullmatch(name)) and name not in {".", ".."} and bool(namespace) == kind.namespaced


def _groups(versions: list[ServedVersion]) -> dict[str, Any]:
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [_discovered(one) for one in of_group],
        }
        for group, of_group in groupby(sorted(versions, key=_position(versions)), key=lambda one: one.group)
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{_AGGREGATED_GROUP}/v2",
        "metadata": {},
        "items": items,
    }


def _position(versions: list[ServedVersion]) -> Any:
    """Groups in the order of their first versions; what crds/ add to a group comes to the others of it."""
    first: dict[str, int] = {}
    for number, one in enumerate(versions):
        first.setdefault(one.group, number)
    return lambda one: first[one.group]


def _discovered(version: ServedVersion) -> dict[str, Any]:
    resources: list[dict[str, Any]] = [
        {
            "resource": kind.plural,
            "responseKind": {"group": version.group, "version": version.version, "kind": kind.kind},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "singularResource": kind.kind.lower(),
            "verbs": _VERBS,
        }
        for kind in version.kinds
    ]
    if resources:
        resources[0]["subresources"] = list(_subresources(version))
    return {
        "version": version.version,
        "resources": resources,
        "freshness": "Stale" if version.is_stale else "Current",
    }


def _subresources(version: ServedVersion) -> Iterator[dict[str, Any]]:
    """At one resource: helm asks for the names of their kinds alone."""
    for kind in version.other_kinds:
        yield {
            "subresource": kind.lower(),
            "responseKind": {"group": version.group, "version": version.version, "kind": kind},
            "verbs": _VERBS,
        }
