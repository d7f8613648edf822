"""Rules for what calls a Service: webhooks, conversions of CRDs, API services, Ingresses, ServiceMonitors.

A cluster accepts a Service or a port that does not exist, and each call fails. Without a workload in the bundle, the
Services may come with another one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from rukpak_py.core.findings import Severity
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.json_fields import Json, at, each, entries, mapping, text, texts
from rukpak_py.formats.object_rules.judged import MOST, Judged, JudgedObject, Origin, is_same_namespace
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Judged] = Family(title="Calls of Services", origin="rukpak-py")

_CONFIGURATIONS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_CONVERSION: Final = ("spec", "conversion", "webhook", "clientConfig", "service")
_HTTPS: Final = 443
_SHOWN: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """`port`: a number or a name. `is_own`: the Service is expected in the bundle."""

    service: str
    namespace: str
    port: int | str | None
    origin: Origin
    is_own: bool = True

    @property
    def key(self) -> ObjectKey:
        return ObjectKey("", "Service", self.namespace[:_SHOWN], self.service[:_SHOWN])


@FAMILY.rule(
    "OBJ-019",
    title="A webhook has a path",
    hint="Give `clientConfig.service.path`; write `/` if the server answers there.",
    severity=Severity.WARNING,
)
def webhooks_have_paths(judged: Judged) -> Iterator[Problem]:
    for origin, webhook in _webhooks(judged):
        service = mapping(webhook, "clientConfig", "service")
        if service and not service.get("path"):
            message = f"webhook '{text(webhook, 'name')}' has no path: the API server calls `/`"
            yield origin.problem(message, "clientConfig", "service")


@FAMILY.rule(
    "OBJ-021",
    title="The Service of a webhook or an API service is in the bundle",
    hint="Correct the name and the namespace of the Service, or add it.",
    severity=Severity.WARNING,
)
def called_services_exist(judged: Judged) -> Iterator[Problem]:
    if not judged.pods:
        return
    for call in _calls(judged):
        if call.is_own and call.service and not judged.named("Service", call.service, call.namespace):
            yield call.origin.problem(f"there is no {call.key} in the bundle")


@FAMILY.rule(
    "OBJ-022",
    title="The port of a Service that is called is one of its ports",
    hint="Name a port in `spec.ports` of the Service: by its number or its name there, not by that of the container.",
    severity=Severity.WARNING,
)
def called_ports_exist(judged: Judged) -> Iterator[Problem]:
    services = list(islice(judged.of_kind("Service"), MOST + 1))
    for call in _calls(judged):
        found = judged.named("Service", call.service, call.namespace)
        if found and call.port and not any(_has(one, call.port) for one in found):
            yield call.origin.problem(f"port {str(call.port)[:80]} is not a port of {call.key}")
    for monitor in judged.objects if len(services) <= MOST else ():
        if monitor.api == ("monitoring.coreos.com/v1", "ServiceMonitor"):
            yield from _of_monitor(monitor, services)


def _of_monitor(monitor: JudgedObject, services: list[JudgedObject]) -> Iterator[Problem]:
    spec = mapping(monitor.document.manifest, "spec")
    wanted = mapping(spec, "selector", "matchLabels")
    if not wanted or at(spec, "selector", "matchExpressions"):
        return
    elsewhere = mapping(spec, "namespaceSelector")
    found = [
        one
        for one in services
        if wanted.items() <= mapping(one.document.manifest, "metadata", "labels").items()
        and (elsewhere or is_same_namespace(one.namespace, monitor.namespace))
    ]
    if elsewhere and not elsewhere.get("any"):
        names = texts(elsewhere, "matchNames")
        found = [one for one in found if not one.namespace or one.namespace in names]
    for path, endpoint in entries(spec, "endpoints"):
        port = text(endpoint, "port")
        if found and port and not any(_has(one, port) for one in found):
            message = f"port '{port[:80]}' is not a port of the Services that the ServiceMonitor selects"
            yield monitor.origin.problem(message, "spec", *path, "port")


def _webhooks(judged: Judged) -> Iterator[tuple[Origin, Json]]:
    for kind in _CONFIGURATIONS:
        for one in judged.of_kind(kind):
            for path, webhook in entries(one.document.manifest, "webhooks"):
                yield one.origin.below(*path), webhook


def _calls(judged: Judged) -> Iterator[_Call]:
    for origin, webhook in _webhooks(judged):
        yield from _call(at(webhook, "clientConfig", "service"), origin.below("clientConfig", "service"))
    for one in judged.of_kind("CustomResourceDefinition"):
        yield from _call(at(one.document.manifest, *_CONVERSION), one.origin.below(*_CONVERSION))
    for one in judged.objects:
        if one.api == ("apiregistration.k8s.io/v1", "APIService"):
            yield from _call(at(one.document.manifest, "spec", "service"), one.origin.below("spec", "service"))
    for one in judged.of_kind("Ingress"):
        for path, backend in _backends(one.document.manifest):
            port = mapping(backend, "port")
            yield _Call(
                service=text(backend, "name"),
                namespace=one.namespace,
                port=text(port, "name") or _number(port.get("number")),
                origin=one.origin.below(*path),
                is_own=False,
            )


def _call(service: Any, origin: Origin) -> Iterator[_Call]:
    if isinstance(service, dict):
        port = _number(service.get("port")) or _HTTPS
        yield _Call(service=text(service, "name"), namespace=text(service, "namespace"), port=port, origin=origin)


def _backends(ingress: Json) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    default = ("spec", "defaultBackend", "service")
    yield default, mapping(ingress, *default)
    for path, route in each(ingress, "spec.rules[].http.paths[]"):
        yield (*path, "backend", "service"), mapping(route, "backend", "service")


def _has(service: JudgedObject, port: int | str) -> bool:
    spec = mapping(service.document.manifest, "spec")
    if text(spec, "type") == "ExternalName":
        return True
    return port in service.ports


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
