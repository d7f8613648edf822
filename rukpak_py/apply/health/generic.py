"""The rules for objects of every kind: before the rule of the kind, and instead of it."""

import re

from rukpak_py.apply.health.custom_resources import said
from rukpak_py.apply.health.fields import (
    MalformedStatus,
    Manifest,
    condition,
    conditions,
    optional_number,
    text,
    value_at,
)
from rukpak_py.apply.health.result import CURRENT, Health, HealthStatus, failed, in_progress

_GENERATION = re.compile(r"[0-9]{1,18}")


def common(obj: Manifest) -> Health | None:
    """Judge by the rules for every kind; None leaves the decision to the rule of the kind."""
    if is_deleted(obj):
        return Health(HealthStatus.TERMINATING, "Resource scheduled for deletion")
    return _generation(obj) or _reconciling_or_stalled(obj)


def is_deleted(obj: Manifest) -> bool:
    return value_at(obj, "metadata.deletionTimestamp") is not None


def by_ready_condition(obj: Manifest) -> Health:
    """Judge a kind without a rule of its own."""
    ready = condition(obj, "Ready")
    if ready is None or ready.is_true:
        return CURRENT
    if ready.status not in {"False", "Unknown"}:
        raise MalformedStatus(f"the condition Ready has the status {ready.status[:40]!r}")
    return in_progress(ready.message or said(ready))


def always_current(_obj: Manifest) -> Health:
    return CURRENT


def _generation(obj: Manifest) -> Health | None:
    generation = optional_number(obj, "metadata.generation")
    observed = _observed_generation(obj)
    if generation is None or observed is None or generation == observed:
        return None
    kind = text(obj, "kind")
    return in_progress(f"{kind} generation is {generation}, but latest observed generation is {observed}")


def _observed_generation(obj: Manifest) -> int | None:
    """Argo Rollouts has it as a string."""
    value = value_at(obj, "status.observedGeneration")
    if isinstance(value, str) and _GENERATION.fullmatch(value):
        return int(value)
    return optional_number(obj, "status.observedGeneration")


def _reconciling_or_stalled(obj: Manifest) -> Health | None:
    for found in conditions(obj):
        if found.type == "Reconciling" and found.is_true:
            return in_progress(found.message)
        if found.type == "Stalled" and found.is_true:
            return failed(found.message)
    return None
