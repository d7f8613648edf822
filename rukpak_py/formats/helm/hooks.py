"""Helm's annotations of an object: whether it is a hook, and which; whether it is kept.

As helm reads them: texts without regard to case and blanks around, several separated by commas. An object with an
event that helm does not know is skipped by helm itself; tests are never run here.
"""

from collections.abc import Mapping
from typing import Any, Final

from rukpak_py.api.names import HELM_HOOK_ANNOTATION as HOOK
from rukpak_py.core.objects import Object
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent

WEIGHT: Final = "helm.sh/hook-weight"
DELETE_POLICY: Final = "helm.sh/hook-delete-policy"
RESOURCE_POLICY: Final = "helm.sh/resource-policy"
_LARGEST_WEIGHT: Final = (1 << 63) - 1
_LONGEST_WEIGHT: Final = 40  # characters
_TESTS: Final = frozenset({"test", "test-success", "test-failure"})


def is_hook(manifest: Mapping[str, Any]) -> bool:
    return HOOK in _annotations(manifest)


def hook_of(manifest: Mapping[str, Any], rendered: Object) -> Hook | None:
    """The object as a hook, by the annotations of its manifest; None when it is only a test, or for no known event."""
    annotations = _annotations(manifest)
    wanted = [word for word in _words(annotations.get(HOOK)) if word not in _TESTS]
    events = frozenset(map(HookEvent, wanted)) if set(HookEvent).issuperset(wanted) else frozenset()
    if not events:
        return None
    return Hook(
        object=rendered,
        events=events,
        weight=_weight(annotations.get(WEIGHT)),
        delete_policies=_delete_policies(annotations),
        outlives=is_kept(manifest),
    )


def is_test(manifest: Mapping[str, Any]) -> bool:
    """A hook for tests and nothing else."""
    words = _words(_annotations(manifest).get(HOOK))
    return bool(words) and all(word in _TESTS for word in words)


def is_kept(manifest: Mapping[str, Any]) -> bool:
    """Whether it stays when it leaves the chart, and when the chart is uninstalled."""
    policy = _annotations(manifest).get(RESOURCE_POLICY)
    return isinstance(policy, str) and policy.strip().lower() == "keep"


def _delete_policies(annotations: Mapping[str, Any]) -> frozenset[DeletePolicy]:
    if DELETE_POLICY not in annotations:
        return frozenset({DeletePolicy.BEFORE_HOOK_CREATION})
    known = set(DeletePolicy)
    return frozenset(DeletePolicy(word) for word in _words(annotations[DELETE_POLICY]) if word in known)


def _weight(text: object) -> int:
    """As Go's strconv.Atoi reads it; anything else is 0."""
    if not isinstance(text, str) or len(text) > _LONGEST_WEIGHT:
        return 0
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdigit()):
        return 0
    weight = int(text)
    return weight if -_LARGEST_WEIGHT - 1 <= weight <= _LARGEST_WEIGHT else 0


def _words(text: object) -> list[str]:
    return [word.strip().lower() for word in text.split(",")] if isinstance(text, str) else []


def _annotations(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
