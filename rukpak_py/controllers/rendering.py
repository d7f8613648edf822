"""From stored content to what a deployment wants: rendered, resolved, normalised. Kept in memory within one budget.

The same content, options and owner give the same result, so it is kept until one of them changes or the budget needs
the room; a kind that appears on the server is looked up again, never remembered as missing.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.desired import Desired, desire
from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.owner import Owner
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.resolution import Resolution, resolve
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupVersionKind, Head, Object, canonical_json
from rukpak_py.formats import RenderOptions
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.resources import NAMESPACES

BUDGET = 64 * 1024 * 1024
BREATH = 50  # objects between two chances for the rest of the process


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Everything that a plan needs to know of the content."""

    desired: tuple[Desired, ...]
    resolution: Resolution
    size: int


@dataclass(frozen=True, kw_only=True)
class Request:
    """Whose content, which, and how. `make_namespace`: the install namespace is ours to create and keep.

    Pruning is part of the key: switched on again, it has to look for what was kept meanwhile.
    """

    deployment: BundleDeployment
    bundle: Bundle
    install_namespace: str
    make_namespace: bool

    @property
    def key(self) -> tuple[str, ...]:
        return (
            self.deployment.metadata.uid,
            self.bundle.status.digest,
            self.install_namespace,
            str(self.make_namespace),
            str(self.deployment.spec.prune.enabled),
        )

    def makes(self, obj: Object) -> bool:
        """Whether this is the install namespace that is ours; where content ships it, it is the content's, kept."""
        head = obj.head
        is_namespace = head.gvk.group_kind == NAMESPACES.group_kind and head.name == self.install_namespace
        return self.make_namespace and is_namespace


class Rendering:
    def __init__(self, content: Content, discovery: Discovery) -> None:
        self._content = content
        self._discovery = discovery
        self._kept: OrderedDict[tuple[str, ...], Wanted] = OrderedDict()
        self._size = 0

    async def wanted(self, request: Request) -> Wanted | None:
        """None: the content is not in the store; it must be fetched again first."""
        kept = self._kept.get(request.key)
        if kept is not None and all(self._discovery.find(gvk) is not None for gvk in kept.resolution.resources):
            self._kept.move_to_end(request.key)
            return kept
        options = RenderOptions(install_namespace=request.install_namespace)
        objects = await self._content.render(
            request.deployment.spec.provisioner_class, request.bundle.status.digest, options
        )
        if objects is None:
            return None
        if request.make_namespace and not any(request.makes(obj) for obj in objects):
            objects = [_namespace(request.install_namespace), *objects]
        resolution = await resolve(objects, self._discovery)
        desired = await _desire_all(objects, resolution, request)
        wanted = Wanted(desired=desired, resolution=resolution, size=sum(len(one.form.body) for one in desired))
        if not resolution.missing and not resolution.new_kinds:
            self._keep(request.key, wanted)
        return wanted

    def forget(self, uid: str) -> None:
        for key in [key for key in self._kept if key[0] == uid]:
            self._size -= self._kept.pop(key).size

    def _keep(self, key: tuple[str, ...], wanted: Wanted) -> None:
        former = self._kept.pop(key, None)
        self._size -= former.size if former is not None else 0
        self._kept[key] = wanted
        self._size += wanted.size
        while self._size > BUDGET and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size


async def _desire_all(objects: list[Object], resolution: Resolution, request: Request) -> tuple[Desired, ...]:
    owner = Owner(name=request.deployment.metadata.name, uid=request.deployment.metadata.uid)
    desired: dict[object, Desired] = {}
    for number, obj in enumerate(objects):
        resource = resolution.resources.get(obj.head.gvk)
        if resource is None:
            continue
        one = desire(
            obj,
            owner=owner,
            namespaced=resource.namespaced,
            default_namespace=request.install_namespace,
            custom=not is_builtin(obj.head.gvk.group),
            outlives=request.makes(obj),
        )
        known = desired.setdefault(one.key, one)
        if known.form.digest != one.form.digest:
            raise ContentError(f"the content has two different objects of the same name: {one.key}")
        if number % BREATH == 0:
            await asyncio.sleep(0)
    return tuple(desired.values())


def _namespace(name: str) -> Object:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    head = Head(gvk=GroupVersionKind("", "v1", NAMESPACES.gvk.kind), namespace="", name=name)
    return Object(head=head, json=canonical_json(manifest))
