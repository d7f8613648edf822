"""The part of an object's metadata that the operator reads."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, GROUP, OTHER_CA_ANNOTATIONS
from rukpak_py.api.schema import ApiType, doc


class OwnerReference(ApiType, frozen=True, kw_only=True, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


def is_deployment(owner: OwnerReference) -> bool:
    return owner.kind == BUNDLE_DEPLOYMENT_KIND and owner.api_version.split("/", 1)[0] == GROUP


def other_injectors(annotations: Mapping[str, str]) -> list[str]:
    """The annotations by which another tool fills in the `caBundle`."""
    sources = OTHER_CA_ANNOTATIONS[:2]  # the others count when they are true
    found = [(key, annotations.get(key, "")) for key in OTHER_CA_ANNOTATIONS]
    return [key for key, value in found if value == "true" or (value and key in sources)]


class ObjectMeta(ApiType, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def is_deleted(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references if owner.controller), None)


class TemplateMeta(ApiType, frozen=True, kw_only=True):
    """Metadata of the Bundles that are made from a template."""

    name: Annotated[str, doc("Not used; it takes part in the template's hash.")] = ""
    namespace: Annotated[str, doc("Not used; it takes part in the template's hash.")] = ""
    labels: Annotated[dict[str, str], doc("Labels of the Bundle.")] = field(default_factory=dict)
    annotations: Annotated[dict[str, str], doc("Annotations of the Bundle.")] = field(default_factory=dict)
    finalizers: Annotated[tuple[str, ...], doc("Not used; they take part in the template's hash.")] = ()
