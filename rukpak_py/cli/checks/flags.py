"""The operator's flags and image, as its Deployment has them: read from the cluster, without the operator's parser.

A flag stands in the arguments, or as a variable of the environment; the argument wins. What a variable takes from
elsewhere is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.accounts import Mode
from rukpak_py.cli.checks.results import Json

CONTAINER = "manager"
VERSION_LABEL = "app.kubernetes.io/version"


@dataclass(frozen=True, kw_only=True)
class OperatorFlags:
    """`unknown`: flags whose value the Deployment does not say."""

    mode: str = Mode.CLASSIC
    default_account: str = ""
    webhook_url: str = ""
    leader_elect: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def known_mode(self) -> Mode | None:
        return Mode(self.mode) if self.mode in set(Mode) and "--mode" not in self.unknown else None


@dataclass(frozen=True, kw_only=True)
class OperatorVersions:
    image: str
    tag: str  # of the image; empty: it has none
    label: str  # of the Deployment: version of the release


def flags_of(deployment: Json) -> OperatorFlags:
    container = _container(deployment)
    given, unknown = _environment(container)
    given |= _arguments([str(one) for one in (*_list(container, "command"), *_list(container, "args"))])
    return OperatorFlags(
        mode=given.get("--mode") or Mode.CLASSIC,
        default_account=given.get("--default-service-account", ""),
        webhook_url=given.get("--webhook-url", ""),
        leader_elect=given.get("--leader-elect", "false").lower() == "true",
        unknown=tuple(sorted(unknown - given.keys())),
    )


def versions_of(deployment: Json) -> OperatorVersions:
    image = str(_container(deployment).get("image", ""))
    last = image.partition("@")[0].rpartition("/")[2]
    labels = (deployment.get("metadata") or {}).get("labels") or {}
    return OperatorVersions(image=image, tag=last.partition(":")[2], label=labels.get(VERSION_LABEL, ""))


def _container(deployment: Json) -> Json:
    pod = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    containers: list[Json] = pod.get("containers") or [{}]
    return next((one for one in containers if one.get("name") == CONTAINER), containers[0])


def _environment(container: Json) -> tuple[dict[str, str], set[str]]:
    given, unknown = dict[str, str](), set[str]()
    for one in _list(container, "env"):
        prefix, is_flag, name = str(one.get("name", "")).partition("RUKPAK_")
        if prefix or not is_flag:
            continue
        flag = f"--{name.lower().replace('_', '-')}"
        if one.get("valueFrom"):
            unknown.add(flag)
        elif one.get("value"):
            given[flag] = str(one["value"])
    return given, unknown


def _arguments(arguments: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for argument, after in zip(arguments, [*arguments[1:], "--"], strict=False):
        flag, has_value, value = argument.partition("=")
        if flag.startswith("--"):
            given[flag] = value if has_value else "true" if after.startswith("--") else after
    return given


def _list(container: Mapping[str, Any], field: str) -> list[Any]:
    found = container.get(field)
    return found if isinstance(found, list) else []
