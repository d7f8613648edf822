"""Content that goes through its whole life with an account of its own: installed, upgraded, corrected and removed.

The account has what `rukpakctl bundle permissions` prints for both versions, and so has the operator, which watches.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.api.names import (
    API_VERSION,
    APPLIED_ANNOTATION,
    BUNDLE_DEPLOYMENT_KIND,
    OPERATOR_ACCOUNT,
    OWNER_NAME_LABEL,
    WATCH_ROLE_LABEL,
)
from rukpak_py.apply.permissions.installer import Needs
from rukpak_py.apply.permissions.permission import Permission, permissions_of
from rukpak_py.apply.permissions.review import missing_permissions
from rukpak_py.core.objects import GroupKind, GroupVersionKind
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, NAMESPACES, Resource
from tests.integration.listing import listed
from tests.integration.operator.granting import ACCOUNT, grant, printed_manifests
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document
from tests.unit.sources.websites import tgz
from tests.unit.web_servers import Answer, Asked
from tests.waiting import eventually

SECONDS = 120.0  # for one step, while the steps of others go on
JSON_PATCH = "application/json-patch+json"
# A field of ours by kind, and another value. Of kinds that are not here it is our annotation.
CHANGES: Mapping[str, tuple[str, object]] = {
    "ClusterRole": ("/rules", []),
    "ClusterRoleBinding": ("/subjects", []),
    "DaemonSet": ("/spec/template/spec/containers/0/image", "changed"),
    "Deployment": ("/spec/template/spec/containers/0/image", "changed"),
    "HorizontalPodAutoscaler": ("/spec/maxReplicas", 99),
    "PodDisruptionBudget": ("/spec/minAvailable", 77),
    "Role": ("/rules", []),
    "RoleBinding": ("/subjects", []),
    "StatefulSet": ("/spec/template/spec/containers/0/image", "changed"),
}


@dataclass(frozen=True, kw_only=True)
class InstalledContent:
    """`first`, `second`: folders of two versions. `flags`: of the command that prints permissions."""

    name: str  # of the BundleDeployment
    provisioner: str
    first: Path
    second: Path
    flags: Sequence[str] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    outliving: frozenset[GroupKind] = frozenset({NAMESPACES.group_kind})  # printed roles are in Namespaces before

    @property
    def namespace(self) -> str:
        return f"of-{self.name}"

    @property
    def account(self) -> Account:
        return Account(self.namespace, ACCOUNT)

    def body(self, server: str, version: str) -> Document:
        source = {"type": "http", "http": {"url": f"http://{server}/{self.name}/{version}.tgz"}}
        template = {"spec": {"provisionerClassName": self.provisioner, "source": source}}
        spec = {
            "provisionerClassName": self.provisioner,
            "template": template,
            "installNamespace": self.namespace,
            "serviceAccountName": ACCOUNT,
            "prune": {"when": "AfterApply"},  # no pods run
            **self.spec,
        }
        metadata = {"name": self.name}
        return {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND, "metadata": metadata, "spec": spec}


class Archives:
    """A web server's answers: the versions of content as archives, in a directory as a chart has it, or without."""

    def __init__(self, contents: Sequence[InstalledContent]) -> None:
        self._contents = {one.name: one for one in contents}

    def __call__(self, asked: Asked) -> Answer:
        name, _, version = asked.path.strip("/").removesuffix(".tgz").partition("/")
        content = self._contents[name]
        folder = content.first if version == "first" else content.second
        root = "content/" if (folder / "Chart.yaml").exists() else ""
        files = {f"{root}{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return Answer(200, body=tgz(files))


class Lives:
    def __init__(self, tenant: Tenant, server: str) -> None:
        self._tenant = tenant
        self._admin = tenant.admin
        self._server = server
        self._printing = asyncio.Semaphore(2)  # programs at a time
        self.granted: list[Document] = []
        self.operator = Account(tenant.system, OPERATOR_ACCOUNT)
        self.corrected: dict[str, set[str]] = {}

    async def of(self, contents: Sequence[InstalledContent]) -> dict[str, str]:
        """Lives of all of them at once; what went wrong, by content."""
        messages = await asyncio.gather(*map(self._live, contents))
        return {one.name: message for one, message in zip(contents, messages, strict=True) if message}

    async def _live(self, content: InstalledContent) -> str:
        """Empty: it went through all of its life; else what went wrong."""
        step = "first roles"
        try:
            await self._grant(content, content.first, "first")
            step = "installation"
            await self._deploy(content, "first")
            step = "second roles"
            await self._grant(content, content.second, "second")
            step = "upgrade"
            await self._deploy(content, "second")
            step = "drift"
            await self._drift(content)
            step = "removal"
            await self._remove(content)
        except Exception as error:  # noqa: BLE001 - what goes wrong with one is told with the others
            return f"{step}: {type(error).__name__}: {error}"
        return ""

    async def _grant(self, content: InstalledContent, folder: Path, version: str) -> None:
        async with self._printing:
            manifests = await printed_manifests(
                folder,
                f"--service-account={content.account}",
                f"--operator-account={self.operator}",
                f"--name={content.name}-{version}",
                *content.flags,
            )
        self.granted += manifests
        await grant(self._admin, manifests)
        watched = Needs(permissions=frozenset(_watched(manifests)))
        client = self._admin.acting_as(self.operator.user)

        async def may_watch() -> bool:
            """A controller adds the rules to those of the operator."""
            return not await missing_permissions(client, watched, namespace=self._tenant.system)

        await eventually(may_watch, what=f"the operator may watch {content.name}")

    async def _deploy(self, content: InstalledContent, version: str) -> None:
        self._tenant.sees_to(content.name)
        body = orjson.dumps(content.body(self._server, version))
        answer = await self._admin.apply(BUNDLE_DEPLOYMENTS, "", content.name, body, field_manager="user", force=True)
        generation = answer.object.metadata.generation

        def is_installed(seen: Document) -> bool:
            found = condition(seen, "Installed")
            if condition(seen, "Stalled").get("status") == "True":
                raise AssertionError(condition(seen, "Ready").get("message"))
            is_current = found.get("observedGeneration") == generation and found.get("status") == "True"
            revision = seen["status"].get("history", [{}])[0].get("revision", 0)
            return is_current and revision == (1 if version == "first" else 2)

        await self._tenant.until(is_installed, what=f"{version} is installed", name=content.name, seconds=SECONDS)

    async def _drift(self, content: InstalledContent) -> None:
        """One object of each kind is changed, and corrected."""
        changed = dict[str, tuple[Resource, Document, str, object]]()
        for resource, one in await self._owned(content):
            kind = str(resource.group_kind)
            pointer, value = _change_of(resource.gvk.kind, one)
            if kind not in changed and pointer:
                changed[kind] = (resource, one, pointer, value)
        await asyncio.gather(*(self._corrects(*one) for one in changed.values()))
        self.corrected[content.name] = set(changed)

    async def _corrects(self, resource: Resource, one: Document, pointer: str, value: object) -> None:
        metadata = one["metadata"]
        place = metadata.get("namespace", ""), metadata["name"]
        patch = orjson.dumps([{"op": "replace", "path": pointer, "value": value}])
        await self._admin.patch(resource, *place, patch, content_type=JSON_PATCH, field_manager="another")
        before = _at(one, pointer)

        async def is_corrected() -> bool:
            return bool(_at(await self._tenant.read(resource, *place), pointer) == before)

        await eventually(is_corrected, what=f"{pointer} of {resource.gvk.kind} {'/'.join(place)}", seconds=SECONDS)

    async def _remove(self, content: InstalledContent) -> None:
        kinds = await self._kinds(content)
        await self._admin.delete(BUNDLE_DEPLOYMENTS, "", content.name)

        async def is_gone() -> bool:
            deployments = {one.metadata.name for one in (await self._admin.list_metadata(BUNDLE_DEPLOYMENTS)).items}
            return content.name not in deployments

        await eventually(is_gone, what=f"{content.name} is gone", seconds=SECONDS)

        async def left() -> list[str]:
            owned = [kind for kind in kinds if kind.group_kind not in content.outliving]
            found = [one async for one in self._labelled(content, owned)]
            return [f"{resource.gvk.kind} {one['metadata']}" for resource, one in found]

        async def nothing_left() -> bool:
            return not await left()

        try:
            await eventually(nothing_left, what=f"nothing of {content.name} is left", seconds=SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {await left()}") from error

    async def _owned(self, content: InstalledContent) -> list[tuple[Resource, Document]]:
        return [one async for one in self._labelled(content, await self._kinds(content))]

    async def _kinds(self, content: InstalledContent) -> list[Resource]:
        document = await self._tenant.deployment(content.name)
        discovery = Discovery(self._admin)
        await discovery.refresh()
        kinds = document["status"].get("kinds", [])  # one bundle of the corpus brings nothing
        recorded = [GroupVersionKind(one.get("group", ""), one["version"], one["kind"]) for one in kinds]
        found = [discovery.find(one) or discovery.preferred(one.group, one.kind) for one in recorded]
        return [one for one in found if one is not None]

    async def _labelled(self, content: InstalledContent, kinds: Sequence[Resource]) -> Any:
        for resource in kinds:
            try:
                items = await listed(self._admin, resource, label_selector=f"{OWNER_NAME_LABEL}={content.name}")
            except ApiError:  # its CRD is gone
                continue
            for one in items:
                if "deletionTimestamp" not in one["metadata"]:
                    yield resource, one


def _watched(manifests: Sequence[Document]) -> Iterator[Permission]:
    for one in manifests:
        if WATCH_ROLE_LABEL in one["metadata"].get("labels", {}):
            yield from permissions_of(one["rules"], "")
        elif one["kind"] == "Role" and one["metadata"]["name"].endswith("-watch"):
            yield from permissions_of(one["rules"], one["metadata"]["namespace"])


def _change_of(kind: str, one: Document) -> tuple[str, object]:
    """A JSON pointer and a value; empty: there is nothing of ours to change."""
    if kind in {"ConfigMap", "Secret"} and one.get("data"):
        return f"/data/{_escaped(next(iter(one['data'])))}", "eA=="
    if kind == "Service" and one["spec"].get("selector"):
        return f"/spec/selector/{_escaped(next(iter(one['spec']['selector'])))}", "changed"
    pointer, value = CHANGES.get(kind, ("", None))
    if pointer and "aggregationRule" not in one and _at(one, pointer):
        return pointer, value
    if APPLIED_ANNOTATION in one["metadata"].get("annotations", {}):
        return f"/metadata/annotations/{_escaped(APPLIED_ANNOTATION)}", "changed"
    return "", None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _at(one: Any, pointer: str) -> Any:
    """None: there is no such field."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(one, list):
            one = next(iter(one[int(name) : int(name) + 1]), None)
            continue
        one = (one or {}).get(name)
    return one
