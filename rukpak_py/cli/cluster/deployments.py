"""A BundleDeployment and the object that users edit for it: itself, or the BundleInstance of its name that owns it.

What a user asks for is written with the rights of the user, as field manager `rukpakctl`, to what was read and nothing
newer: StaleError says that another client was faster.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND
from rukpak_py.api.reading import read_bundle_deployment, read_bundle_instance
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import KindNotServedError, NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, Resource

FIELD_MANAGER = "rukpakctl"
TRIES = 5  # of a patch, while the operator writes to the same object


class DeploymentCommandError(RukPakError):
    """The command cannot be done for this BundleDeployment."""


@dataclass(frozen=True, kw_only=True)
class EditedDeployment:
    """`edited` is what users edit; `raw` is all of it, as the API server answered."""

    deployment: BundleDeployment
    edited: BundleDeployment | BundleInstance
    resource: Resource
    raw: bytes

    @property
    def name(self) -> str:
        return self.edited.metadata.name

    @property
    def title(self) -> str:
        return str(self.resource.key("", self.name))

    @property
    def reference(self) -> str:
        """As kubectl prints it after a change."""
        return f"{self.resource.plural}.{self.resource.gvk.group}/{self.name}"

    async def patch(self, client: Client, change: dict[str, Any], *, dry_run: bool = False) -> None:
        """Merge the change into what was read."""
        metadata = self.edited.metadata
        preconditions = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        body = {**change, "metadata": {**change.get("metadata", {}), **preconditions}}
        await client.patch(
            self.resource, "", metadata.name, canonical_json(body), field_manager=FIELD_MANAGER, dry_run=dry_run
        )

    async def edit_spec(self, client: Client, change: Mapping[str, Any]) -> None:
        """Set fields of the spec in what was read, nulls within them included. None: the field goes."""
        metadata, patch = self.edited.metadata, list[dict[str, Any]]()
        patch.append({"op": "test", "path": "/metadata/uid", "value": metadata.uid})
        patch.append({"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.resource_version})
        for name, value in change.items():
            path = f"/spec/{name}"
            patch.append(
                {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}
            )
        await client.patch(
            self.resource,
            "",
            metadata.name,
            canonical_json(patch),
            content_type=JSON_PATCH,
            field_manager=FIELD_MANAGER,
        )


@contextmanager
def kinds_of_operator() -> Iterator[None]:
    """DeploymentCommandError: the cluster does not have the kinds that are read."""
    try:
        yield
    except KindNotServedError as error:
        raise DeploymentCommandError(
            "the cluster does not have the kinds of rukpak-py (such as BundleDeployment): install the operator, "
            "or check that KUBECONFIG and its current context name the right cluster"
        ) from error


async def read_deployment(client: Client, name: str) -> EditedDeployment:
    """DeploymentCommandError: there is none of that name, or not even its kind."""
    try:
        with kinds_of_operator():
            raw = await client.get(BUNDLE_DEPLOYMENTS, "", name)
    except NotFoundError as error:
        raise DeploymentCommandError(error.message) from error
    return await _with_edited(client, raw)


async def find_deployment(client: Client, name: str) -> EditedDeployment | None:
    """None: there is none of that name. DeploymentCommandError: there is not even its kind."""
    try:
        with kinds_of_operator():
            raw = await client.get(BUNDLE_DEPLOYMENTS, "", name)
    except NotFoundError:
        return None
    return await _with_edited(client, raw)


async def _with_edited(client: Client, raw: bytes) -> EditedDeployment:
    deployment = read_bundle_deployment(raw)
    owner = deployment.metadata.controller
    if owner is None or owner.kind != BUNDLE_INSTANCE_KIND:
        return EditedDeployment(deployment=deployment, edited=deployment, resource=BUNDLE_DEPLOYMENTS, raw=raw)
    raw = await client.get(BUNDLE_INSTANCES, "", owner.name)
    instance = read_bundle_instance(raw)
    if instance.metadata.uid != owner.uid:
        raise DeploymentCommandError(
            f"BundleDeployment {deployment.metadata.name} belongs to a former BundleInstance of this name; "
            "wait until it is deleted"
        )
    return EditedDeployment(deployment=deployment, edited=instance, resource=BUNDLE_INSTANCES, raw=raw)
