"""The objects of a rendering, taken from its sections one after the other.

Each identity comes once. What two files of crds/ bring is taken from the first, as helm does it; anything else that
comes twice is refused, with both templates. A list is its items. An error names the section.
"""

from collections.abc import Iterator
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.helm.hooks import hook_of, is_hook, is_test
from rukpak_py.formats.helm.output import Section
from rukpak_py.formats.hook import Hook
from rukpak_py.formats.manifests import checked_items_of
from rukpak_py.formats.plain_rules import no_name, no_version
from rukpak_py.formats.rendered_size import RenderedSize


class RenderedObjects:
    def __init__(self, namespace: str, limits: Limits) -> None:
        self._namespace = namespace
        self._limits = limits
        self._size = RenderedSize(limits)
        self._aliases = AliasBudget(limits)
        self._sources: dict[ObjectKey, str] = {}
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

    def _add_object(self, rendered: Object, section: Section) -> None:
        key = rendered.head.key
        identity = key if key.namespace else key._replace(namespace=self._namespace)
        first = self._sources.setdefault(identity, section.source)
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
