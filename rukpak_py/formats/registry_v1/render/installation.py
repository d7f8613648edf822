"""Where and how a bundle is installed: everything that decides its objects besides the bundle itself."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rukpak_py.formats.registry_v1.bundle import Json, RegistryBundle
from rukpak_py.formats.registry_v1.render.certificates import Provider

ALL_NAMESPACES = ("",)


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderTarget:
    bundle: RegistryBundle
    namespace: str
    targets: tuple[str, ...]  # the namespaces that the operator watches; ("",) is all of them
    certificates: Provider | None
    deployment_config: Json  # typed; empty when nothing is configured

    @property
    def watches_everything(self) -> bool:
        return self.targets == ALL_NAMESPACES

    def object(self, api_version: str, kind: str, name: str, *, namespace: str | None = None) -> Json:
        """The head of a namespaced object; without `namespace` it lives where the operator does."""
        metadata = {"name": name, "namespace": self.namespace if namespace is None else namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def annotated(manifest: Json, annotations: Mapping[str, str], *, instead_of: Collection[str] = ()) -> Json:
    """The same object when there is nothing to add; what it says already is replaced. `instead_of`: these go."""
    if not annotations:
        return manifest
    metadata = manifest.get("metadata") or {}
    former = {key: value for key, value in (metadata.get("annotations") or {}).items() if key not in instead_of}
    merged = {**former, **annotations}
    return {**manifest, "metadata": {**metadata, "annotations": merged}}
