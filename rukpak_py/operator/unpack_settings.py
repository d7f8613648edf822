"""The flags that say how images are unpacked, and what unpack pods look like."""

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import orjson

from rukpak_py import __version__
from rukpak_py.api.accounts import Mode
from rukpak_py.operator.flag_values import one_of, parsed
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.layout import host_platform
from rukpak_py.sources.image.pod_manifest import ALWAYS, PULL_POLICIES, PodSettings
from rukpak_py.sources.image.reference import parse_image
from rukpak_py.sources.image.unpack_methods import ImageUnpack

TOOL_IMAGE = f"localhost/rukpak-py/operator:{__version__}"
RESOURCES = '{"requests":{"cpu":"10m","memory":"16Mi"}}'
_LABEL = re.compile(r"(?:[a-z0-9][-a-z0-9.]{0,252}/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


class AddFlag(Protocol):
    def __call__(
        self,
        flag: str,
        default: object,
        about: str,
        *,
        type: Callable[[str], object] = ...,  # noqa: A002 - as argparse has it
        **more: object,
    ) -> None: ...


def add_unpack_flags(add: AddFlag) -> None:
    add(
        "--image-unpack",
        ImageUnpack.AUTO.value,
        "how images are unpacked: direct (from the registry), pod (the node pulls), or auto (by a pod where the "
        "registry cannot be read directly)",
        type=one_of(*ImageUnpack),
    )
    add(
        "--unpack-pods",
        "remove",
        "what becomes of an unpack pod whose content is stored: remove, or keep (it ends and stays, and is created "
        "again when it is deleted)",
        type=one_of("remove", "keep"),
    )
    add(
        "--unpack-pull-policy",
        "",
        "when the node of an unpack pod pulls the image of a Bundle: Always (the registry has to agree each time), or "
        "IfNotPresent; default: Always in mode narrow, else that of Kubernetes (Always for the tag latest)",
        type=one_of("", *PULL_POLICIES),
    )
    add("--unpack-image", TOOL_IMAGE, "image with /bin/busybox (static) for unpack pods", type=parsed(_image))
    add(
        "--unpack-pod-pull-secrets",
        "",
        "Secrets with logins for that image, separated by commas",
        type=_names,
    )
    add(
        "--image-platform",
        str(host_platform()),
        "OS/ARCHITECTURE of images for several platforms, and of the nodes of unpack pods",
        type=_platform,
    )
    add(
        "--unpack-pod-node-selector",
        "",
        "labels of the nodes of unpack pods: KEY=VALUE, separated by commas",
        type=_labels,
    )
    add("--unpack-pod-tolerations", "", "tolerations of unpack pods: a JSON list, as in a pod", type=_tolerations)
    add(
        "--unpack-pod-resources",
        RESOURCES,
        "resources of each container of unpack pods: a JSON object, as in a container",
        type=_resources,
    )


def pod_settings(given: Mapping[str, Any]) -> PodSettings:
    """In mode narrow a node's cache hands out no image that a tenant may not pull."""
    return PodSettings(
        tool_image=given["unpack_image"],
        platform=given["image_platform"],
        keep=given["unpack_pods"] == "keep",
        pull_policy=given["unpack_pull_policy"] or (ALWAYS if given["mode"] == Mode.NARROW else ""),
        pull_secrets=given["unpack_pod_pull_secrets"],
        node_selector=given["unpack_pod_node_selector"],
        tolerations=given["unpack_pod_tolerations"],
        resources=given["unpack_pod_resources"],
    )


def _image(text: str) -> str:
    parse_image(text)
    return text


def _platform(text: str) -> Platform:
    system, _, architecture = text.partition("/")
    if system != "linux" or not re.fullmatch(r"[a-z0-9]{1,20}", architecture):
        raise argparse.ArgumentTypeError(f"{text!r} is not a platform like linux/amd64")
    return Platform(os=system, architecture=architecture)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    for name in names:
        if not re.fullmatch(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?", name):
            raise argparse.ArgumentTypeError(f"{name[:100]!r} is not a valid Secret name")
    return names


def _labels(text: str) -> Mapping[str, str]:
    labels = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not _LABEL.fullmatch(key) or not _VALUE.fullmatch(value):
            raise argparse.ArgumentTypeError(f"{part[:100]!r} is not a label KEY=VALUE")
        labels[key] = value
    return labels


def _tolerations(text: str) -> list[Mapping[str, Any]]:
    found = _json(text or "[]")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a JSON list of tolerations")
    return found


def _resources(text: str) -> Mapping[str, Any]:
    found = _json(text or "{}")
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a JSON object of requests and limits")
    return found


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not JSON: {error}") from error
