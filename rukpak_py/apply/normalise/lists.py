"""Lists that are maps for server-side apply: POST takes a key that is given twice, apply refuses the whole object.

The last entry wins, at the place of the first: what refers to it further down (`$(NAME)` in env) still finds it. Of
ports, number and protocol are the key, so those that differ in the protocol are all kept; where two names are for one
key, the probes and hooks of the container that refer to the lost name get the number instead.
Keys that POST refuses too (container names, mount paths, volumes, Service ports) are left to the server.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from rukpak_py.apply.normalise.notes import Notes, edit, edit_each, without
from rukpak_py.core.objects import GroupKind

_TEMPLATE = ("spec", "template", "spec")
POD_SPEC_PATHS: Mapping[GroupKind, tuple[str, ...]] = {
    GroupKind("", "Pod"): ("spec",),
    GroupKind("", "PodTemplate"): ("template", "spec"),
    GroupKind("", "ReplicationController"): _TEMPLATE,
    GroupKind("apps", "DaemonSet"): _TEMPLATE,
    GroupKind("apps", "Deployment"): _TEMPLATE,
    GroupKind("apps", "ReplicaSet"): _TEMPLATE,
    GroupKind("apps", "StatefulSet"): _TEMPLATE,
    GroupKind("batch", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
    GroupKind("batch", "Job"): _TEMPLATE,
}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HANDLER_PATHS = (*((probe,) for probe in PROBES), ("lifecycle", "postStart"), ("lifecycle", "preStop"))
_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

_Key = Callable[[dict[str, Any]], Hashable | None]
_Merge = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
_Lost = Callable[[dict[str, Any], dict[str, Any]], str]


def merge_pod_lists(manifest: dict[str, Any], path: tuple[str, ...], notes: Notes) -> dict[str, Any]:
    def pod_spec(value: object, at: str) -> dict[str, Any]:
        spec = notes.mapping(value, at)
        for key in _CONTAINER_LISTS:
            spec = edit(notes, spec, [key], containers, at=at)
        spec = edit(notes, spec, ["imagePullSecrets"], merge_by(_name, "imagePullSecret", notes), at=at)
        return edit(notes, spec, ["hostAliases"], merge_by(_ip, "hostAlias", notes, _all_host_names), at=at)

    def containers(value: object, at: str) -> list[Any]:
        return edit_each(notes, value, at, container)

    def container(value: dict[str, Any], at: str) -> dict[str, Any]:
        value = edit(notes, value, ["env"], merge_by(_env_name, "env", notes), at=at)
        value = edit(notes, value, ["ports"], drop_blank_protocols(notes), at=at)
        merged = edit(notes, value, ["ports"], merge_by(_port, "port", notes, lost=_lost_name), at=at)
        return merged if merged is value else _without_lost_names(merged, _numbers(value["ports"]), notes, at)

    return edit(notes, manifest, path, pod_spec)


def _without_lost_names(container: dict[str, Any], numbers: Mapping[str, int], notes: Notes, at: str) -> dict[str, Any]:
    left = _numbers(container["ports"])

    def port(value: Any, _at: str) -> Any:
        return numbers.get(value, value) if isinstance(value, str) and value not in left else value

    for handler in HANDLER_PATHS:
        for action in ("httpGet", "tcpSocket"):
            container = edit(notes, container, [*handler, action, "port"], port, at=at)
    return container


def _numbers(ports: list[Any]) -> dict[str, int]:
    entries = [entry for entry in ports if isinstance(entry, dict) and isinstance(entry.get("name"), str)]
    return {entry["name"]: entry["containerPort"] for entry in entries if isinstance(entry.get("containerPort"), int)}


def _lost_name(earlier: dict[str, Any], later: dict[str, Any]) -> str:
    """Warn of the lost one of two names for one port: a Service, say, may refer to it."""
    lost, kept = earlier.get("name"), later.get("name")
    if not isinstance(lost, str) or lost == kept:
        return ""
    return f", and its name {lost!r} is lost: what refers to that name must use the number"


def merge_account_secrets(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    return edit(notes, manifest, ["secrets"], merge_by(_name, "secret", notes))


def drop_blank_protocols(notes: Notes) -> Callable[[Any, str], list[Any]]:
    """A blank protocol is TCP for the server, but another key than TCP for apply: the object changes at every apply."""

    def port(value: dict[str, Any], _at: str) -> dict[str, Any]:
        return without(value, "protocol") if value.get("protocol") == "" else value

    return lambda value, at: edit_each(notes, value, at, port)


def merge_by(
    key_of: _Key, word: str, notes: Notes, merge: _Merge | None = None, *, lost: _Lost = lambda _earlier, _later: ""
) -> Callable[[Any, str], list[Any]]:
    """Keep one entry per key; what has no usable key stays as it is. `merge` joins an earlier entry and a later one.

    `lost`: what the warning says besides of an earlier entry that gives way to a later one.
    """

    def merged(value: object, at: str) -> list[Any]:
        entries = notes.items(value, at)
        places: dict[Hashable, int] = {}
        result: list[Any] = []
        for entry in entries:
            key = key_of(entry) if isinstance(entry, dict) else None
            if key is None or key not in places:
                if key is not None:
                    places[key] = len(result)
                result.append(entry)
                continue
            earlier = result[places[key]]
            result[places[key]] = merge(earlier, entry) if merge else entry
            if merge is None and earlier != entry:
                notes.warn(f"{at}: {word} {key} is given more than once; the last one is used{lost(earlier, entry)}")
        return entries if len(result) == len(entries) else result

    return merged


def _env_name(entry: dict[str, Any]) -> Hashable | None:
    name = entry.get("name")
    return name if isinstance(name, str) else None


def _name(entry: dict[str, Any]) -> Hashable | None:
    name = entry.get("name", "")  # the schema's default
    return name if isinstance(name, str) else None


def _ip(entry: dict[str, Any]) -> Hashable | None:
    ip = entry.get("ip")
    return ip if isinstance(ip, str) else None


def _port(entry: dict[str, Any]) -> Hashable | None:
    port, protocol = entry.get("containerPort"), entry.get("protocol", "TCP")
    return f"{port}/{protocol}" if isinstance(port, int) and isinstance(protocol, str) else None


def _all_host_names(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    names, more = earlier.get("hostnames") or [], later.get("hostnames") or []
    if not isinstance(names, list) or not isinstance(more, list):
        return later
    return {**later, "hostnames": [*names, *(name for name in more if name not in names)]}
