"""Rendering in tests: a Tree to its objects, and the few that a test looks at."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from rukpak_py.content.tree import Tree
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render import render
from rukpak_py.formats.rules import Locator

Json: TypeAlias = dict[str, Any]


def bundle_of(tree: Tree, *, parity: bool = False) -> RegistryBundle:
    return read(tree, parity=parity).complete()


def rendered(
    tree: Tree,
    *targets: str,
    parity: bool = False,
    namespace: str | None = "operators",
    certificates: Certificates = Certificates.OPERATOR,
    config: Json | None = None,
) -> list[Json]:
    options = RenderOptions(
        install_namespace=namespace,
        watch_namespaces=targets or None,
        certificates=certificates,
        deployment_config=config,
    )
    return render(bundle_of(tree, parity=parity), options, Locator(tree))


def of_kind(objects: Iterable[Json], *kinds: str) -> list[Json]:
    return [obj for obj in objects if obj["kind"] in kinds]


def only(objects: Iterable[Json], kind: str) -> Json:
    (found,) = of_kind(objects, kind)
    return found


def names(objects: Iterable[Json]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


def pod_of(deployment: Json) -> Json:
    pod: Json = deployment["spec"]["template"]["spec"]
    return pod
