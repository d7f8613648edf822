"""The objects of a rendering, taken from its sections one after the other.

Each identity comes once. What two files of crds/ bring is taken from the first, as helm does it; anything else that
comes twice is refused, with both templates. A list is its items. An error names the section.

Helm's annotations say whether an object is a hook, and which; whether it is kept. As helm reads them: texts without
regard to case and blanks around, several separated by commas. An object with an event that helm does not know is
skipped by helm itself; tests are never run here.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rukpak_py.api.names import HELM_HOOK_ANNOTATION as HOOK
from rukpak_py.content import yaml
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.helm.output import Section
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent
from rukpak_py.formats.manifests import checked_items_of
from rukpak_py.formats.plain_rules import no_name, no_version
from rukpak_py.formats.rendered_size import RenderedSize

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


class RenderedObjects:
    def __init__(self, namespace: str, limits: Limits) -> None:
        self._namespace = namespace
        self._limits = limits
        self._size = RenderedSize(limits)
        self._aliases = AliasBudget(limits)
        self.sources: dict[ObjectKey, str] = {}
        self.hook_sources: dict[int, str] = {}  # by id: hooks of one name may be several
        self.crds: dict[ObjectKey, Object] = {}
        self.objects: dict[ObjectKey, Object] = {}
        self.hooks = list[Hook]()
        self.test_hooks = 0

    def add(self, section: Section) -> None:
        try:
            for document in yaml.documents(section.text, limits=self._limits, aliases=self._aliases):
                self._add_document(document, section)
        except ContentError as error:
            raise type(error)(f"{section.source}: {error}") from error

    def _add_document(self, document: Any, section: Section) -> None:
        if document is None:
            return
        for manifest in _flattened(document):
            if section.is_crd or not is_hook(document):
                self._add_object(self._rendered(manifest), section)
            elif is_test(document):
                self.test_hooks += 1
            elif hook := hook_of(document, self._rendered(manifest)):
                self.hooks.append(hook)
                self.hook_sources[id(hook)] = section.source

    def _add_object(self, rendered: Object, section: Section) -> None:
        key = rendered.head.key
        identity = key if key.namespace else key._replace(namespace=self._namespace)
        first = self.sources.setdefault(identity, section.source)
        if section.is_crd:  # as helm does it, which skips what is there already
            self.crds.setdefault(identity, rendered)
            return
        if identity in self.crds or identity in self.objects:
            raise ContentError(f"{key} is there already, from {first}: give one of them another name, or remove it")
        self.objects[identity] = rendered

    def _rendered(self, manifest: dict[str, Any]) -> Object:
        rendered = self._size.render(manifest)
        if problem := no_version(rendered.head) or no_name(rendered.head):
            raise ContentError(problem)
        for overflow in checked(manifest).overflows:
            raise ContentError(f"{rendered.head.key}: {overflow.message}")
        return rendered


def _flattened(document: Any) -> Iterator[dict[str, Any]]:
    waiting = [document]
    while waiting:
        manifest = waiting.pop(0)
        items = checked_items_of(manifest)
        if items is None:
            yield manifest
        else:
            waiting += items
