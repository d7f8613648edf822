"""Rules for names of ports that are used in one place and given in another: probes, Services, webhooks.

A cluster accepts a name that no container has, and finds no port then. Numbers are not judged: a container may listen
at a port that it does not list.
"""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import Json, at, entries, mapping, text
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import csvs, each, first_documents, of_kind, pod_specs
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Reading] = Family(title="Names of ports", origin="rukpak-py")

_LISTS: Final = ("initContainers", "containers")
_CALLS: Final = (
    ("startupProbe",),
    ("readinessProbe",),
    ("livenessProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
_ACTIONS: Final = ("httpGet", "tcpSocket")


@FAMILY.rule(
    "RV1-978",
    title="A probe calls a port of its container",
    hint="Name a port in `ports` of the same container, or write the number of the port.",
    severity=Severity.WARNING,
)
def probes_call_ports(reading: Reading) -> Iterator[Problem]:
    for document in first_documents(reading):
        for path, pod in pod_specs(document):
            for below, container in (found for field in _LISTS for found in entries(pod, field)):
                named = _names(container)
                for call in ((*call, action, "port") for call in _CALLS for action in _ACTIONS):
                    port = text(container, *call)
                    if _is_name(port) and port not in named:
                        message = f"{'.'.join(call[:-2])} of container '{text(container, 'name')}' calls the port "
                        message += f"'{port[:80]}', which the container does not have"
                        yield Problem(message=message, place=document.place(*path, *below, *call))


@FAMILY.rule(
    "RV1-979",
    title="The targetPort of a Service or webhook is a port of its pods",
    hint="Name a port in `ports` of a container of the pods, or write the number of the port.",
    severity=Severity.WARNING,
)
def target_ports_are_ports(reading: Reading) -> Iterator[Problem]:
    """Pods that are not in the bundle may have any port."""
    for service in of_kind(reading, "Service"):
        selector = mapping(service.manifest, "spec", "selector")
        pods = [pod for document in first_documents(reading) for pod in _selected(document, selector)]
        for path, port in entries(service.manifest, "spec", "ports"):
            if pods and _is_missing(text(port, "targetPort"), pods):
                message = (
                    f"targetPort '{text(port, 'targetPort')[:80]}' is no port of the pods that the Service selects"
                )
                yield Problem(message=message, place=service.place(*path, "targetPort"))
    for csv in csvs(reading):
        served = {
            text(entry, "name"): mapping(entry, "spec", "template", "spec")
            for _, entry in each(csv, "spec.install.spec.deployments[]")
        }
        for path, webhook in each(csv, "spec.webhookdefinitions[]"):
            pod = served.get(text(webhook, "deploymentName"))
            if pod is not None and _is_missing(text(webhook, "targetPort"), [pod]):
                message = (
                    f"targetPort '{text(webhook, 'targetPort')[:80]}' of webhook '{text(webhook, 'generateName')}' is "
                    f"no port of deployment '{text(webhook, 'deploymentName')}'"
                )
                yield Problem(message=message, place=csv.place(*path, "targetPort"))


def _selected(document: Document, selector: Json) -> Iterator[Json]:
    for path, pod in pod_specs(document):
        labels = mapping(at(document.manifest, *path[:-1]), "metadata", "labels")
        if selector and selector.items() <= labels.items():
            yield pod


def _is_missing(port: str, pods: list[Json]) -> bool:
    containers = (found for pod in pods for field in _LISTS for _, found in entries(pod, field))
    return _is_name(port) and all(port not in _names(container) for container in containers)


def _names(container: Json) -> set[str]:
    return {text(port, "name") for _, port in entries(container, "ports")}


def _is_name(port: str) -> bool:
    """Whether it is looked up: a number in quotes is told as a wrong form."""
    return bool(port) and not port.isdecimal()
