"""Defects of Deployments, StatefulSets, DaemonSets, Jobs and CronJobs."""

import re
from collections.abc import Iterator
from typing import Any, Final

from rukpak_py.formats.object_rules import cron
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.selectors import labels, selects_template

_PERCENT: Final = re.compile(r"[0-9]{1,9}%")
_WHOLE: Final = 100
_JOB_POLICIES: Final = frozenset({"OnFailure", "Never"})
_CRON_NAME: Final = 52  # the controller adds 11 characters


def deployment(part: Part) -> Iterator[Defect]:
    yield from selects_template(part)
    yield from _always(part)
    strategy = part.mapping("strategy")
    yield from _strategy(part, strategy, "strategy")
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate"):
        message = "strategy.rollingUpdate must not be set with type Recreate"
        yield part.defect(Sort.UNION, message, "strategy", "rollingUpdate")
    rolling = strategy.get("rollingUpdate")
    if isinstance(rolling, dict) and _is_zero(rolling.get("maxUnavailable")) and _is_zero(rolling.get("maxSurge")):
        message = "maxUnavailable and maxSurge are both 0: no pod could be replaced"
        yield part.defect(Sort.RANGE, message, "strategy", "rollingUpdate", "maxUnavailable")
    deadline, ready = part.whole("progressDeadlineSeconds"), part.whole("minReadySeconds") or 0
    if deadline is not None and deadline > 0 and deadline <= ready:
        message = f"progressDeadlineSeconds is {deadline}, and must be more than minReadySeconds, which is {ready}"
        yield part.defect(Sort.RANGE, message, "progressDeadlineSeconds")


def stateful_set(part: Part) -> Iterator[Defect]:
    yield from selects_template(part)
    yield from _always(part)
    strategy = part.mapping("updateStrategy")
    if strategy.get("type") == "OnDelete" and strategy.get("rollingUpdate"):
        message = "updateStrategy.rollingUpdate must not be set with type OnDelete"
        yield part.defect(Sort.UNION, message, "updateStrategy", "rollingUpdate")


def daemon_set(part: Part) -> Iterator[Defect]:
    yield from selects_template(part)
    yield from _always(part)
    yield from _strategy(part, part.mapping("updateStrategy"), "updateStrategy")
    rolling = part.mapping("updateStrategy", "rollingUpdate")
    if _is_zero(rolling.get("maxUnavailable")) and (_is_zero(rolling.get("maxSurge")) or "maxSurge" not in rolling):
        message = "maxUnavailable and maxSurge are both 0: no pod could be replaced"
        yield part.defect(Sort.RANGE, message, "updateStrategy", "rollingUpdate", "maxUnavailable")


def replica_set(part: Part) -> Iterator[Defect]:
    yield from selects_template(part)
    yield from _always(part)


def _strategy(part: Part, strategy: dict[str, Any], field: str) -> Iterator[Defect]:
    rolling = strategy.get("rollingUpdate")
    if isinstance(rolling, dict):
        for name in ("maxUnavailable", "maxSurge"):
            yield from share(part, rolling.get(name), field, "rollingUpdate", name)


def share(part: Part, value: Any, *path: str) -> Iterator[Defect]:
    """A number of pods, or a percentage."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield part.defect(Sort.FORM, f'{path[-1]} is "{value[:60]}", and must be an integer or a percentage', *path)
        elif path[-1] in {"maxUnavailable", "minAvailable"} and int(value[:-1]) > _WHOLE:
            yield part.defect(Sort.RANGE, f"{path[-1]} is {value}, and must not be more than 100%", *path)
    elif isinstance(value, int) and value < 0:
        yield part.defect(Sort.RANGE, f"{path[-1]} is {value}, and must be at least 0", *path)


def _is_zero(value: Any) -> bool:
    return value in {0, "0%"} if isinstance(value, int | str) else False


def _always(part: Part) -> Iterator[Defect]:
    policy = part.mapping("template", "spec").get("restartPolicy")
    if isinstance(policy, str) and policy in _JOB_POLICIES:
        message = f"restartPolicy is {policy}, and must be Always here"
        yield part.defect(Sort.CHOICE, message, "template", "spec", "restartPolicy")
    if part.mapping("template", "spec").get("activeDeadlineSeconds") is not None:
        message = "activeDeadlineSeconds must not be set here"
        yield part.defect(Sort.UNION, message, "template", "spec", "activeDeadlineSeconds")


def job(part: Part) -> Iterator[Defect]:
    spec = part.mapping("template", "spec")
    policy = spec.get("restartPolicy")
    if spec and isinstance(policy, str | None) and policy not in _JOB_POLICIES:
        shown = f"restartPolicy is {policy}" if policy else "restartPolicy is Always by default"
        message = f"{shown}, and must be OnFailure or Never in a Job"
        yield part.defect(Sort.CHOICE, message, "template", "spec", "restartPolicy")
    if part.value.get("selector") and part.value.get("manualSelector") is not True:
        yield part.defect(Sort.REFERENCE, "selector is set by the API server: remove it", "selector")
    if part.text("completionMode") == "Indexed" and part.value.get("completions") is None:
        yield part.defect(Sort.REQUIRED, "completions are required with completionMode Indexed", "completionMode")


def cron_job(part: Part) -> Iterator[Defect]:
    schedule = part.text("schedule")
    if schedule and (problem := cron.problem(schedule)):
        yield part.defect(Sort.FORM, f'schedule "{schedule[:80]}": {problem}', "schedule")
    around = part.around
    name = around.mapping("metadata").get("name") if around is not None else None
    if isinstance(name, str) and len(name) > _CRON_NAME:
        message = f"the name of a CronJob has at most {_CRON_NAME} characters"
        yield (around or part).defect(Sort.NAME, message, "metadata", "name")


def template(part: Part) -> Iterator[Defect]:
    yield from labels(part, part.mapping("metadata", "labels"), "metadata", "labels")
