"""registry+v1 bundles of the webhook operator, in three versions that an upgrade goes through.

    0.1.0   Gadgets in v1, which is stored; validated and defaulted
    0.2.0   v2 is served as well, by a conversion webhook; v1 is still what is stored
    0.3.0   v2 is stored

    GadgetBundle(version="0.2.0", package="gadgets-a", group="a.example.com", image=image.name()).write(folder)

Everything cluster-wide is named after the package or the group: bundles with their own of both do not meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import yaml

from e2e.cluster.image_archive import Image, write_image
from e2e.webhook_operator.csv_manifest import csv_manifest
from e2e.webhook_operator.definition import PLURAL, definition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PREFIX = "operators.operatorframework.io.bundle"
CHANNEL = "stable"


@dataclass(frozen=True, kw_only=True)
class Api:
    served: tuple[str, ...]
    stored: str


APIS: Mapping[str, Api] = {
    "0.1.0": Api(served=("v1",), stored="v1"),
    "0.2.0": Api(served=("v1", "v2"), stored="v1"),
    "0.3.0": Api(served=("v1", "v2"), stored="v2"),
}


@dataclass(frozen=True, kw_only=True)
class GadgetBundle:
    version: str
    package: str
    group: str
    image: str  # of the operator
    install_mode: Literal["AllNamespaces", "OwnNamespace"] = "AllNamespaces"
    suggested_namespace: str = ""
    replicas: int = 1

    def __post_init__(self) -> None:
        if len(self.api.served) > 1 and self.install_mode != "AllNamespaces":
            raise ValueError(f"{self.version} has a conversion webhook, which needs AllNamespaces and no other mode")

    @property
    def api(self) -> Api:
        return APIS[self.version]

    @property
    def definition_name(self) -> str:
        return f"{PLURAL}.{self.group}"

    @property
    def deployment_name(self) -> str:
        return f"{self.package}-controller"

    def files(self) -> dict[str, bytes]:
        """Files by their path in the bundle."""
        annotations = {
            f"{PREFIX}.mediatype.v1": "registry+v1",
            f"{PREFIX}.manifests.v1": "manifests/",
            f"{PREFIX}.metadata.v1": "metadata/",
            f"{PREFIX}.package.v1": self.package,
            f"{PREFIX}.channels.v1": CHANNEL,
            f"{PREFIX}.channel.default.v1": CHANNEL,
        }
        documents = {
            f"manifests/{self.package}.clusterserviceversion.yaml": csv_manifest(self),
            f"manifests/{self.definition_name}.yaml": definition(self),
            "metadata/annotations.yaml": {"annotations": annotations},
        }
        return {path: _yaml(document) for path, document in documents.items()}

    def write(self, folder: Path) -> Path:
        """Into a folder that need not be there."""
        for path, content in self.files().items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return folder

    def write_image(self, name: str, target: Path) -> Path:
        """As a docker-archive, for a node that is asked for it by this name."""
        return write_image(Image(name=name, files={f"/{path}": data for path, data in self.files().items()}), target)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _yaml(document: object) -> bytes:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False).encode()
