"""Renderings of registry+v1 are bounded, too: namespaces and configuration multiply the content of a bundle."""

import pytest

import rukpak_py
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import KIB, Limits
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.format import RegistryV1Format
from tests.unit.bundles import bundle, csv_document, modes, permission
from tests.unit.test_library import SAMPLES

NAMESPACES = tuple(f"team-{number}" for number in range(20))
BUNDLE = bundle(csv=csv_document(permissions=[permission()], install_modes=modes("MultiNamespace")))


def render(tree: Tree, **options: object) -> str:
    with pytest.raises(ContentError) as caught:
        RegistryV1Format().render(tree, RenderOptions(watch_namespaces=NAMESPACES, **options))  # type: ignore[arg-type]  # a table
    return str(caught.value)


def test_objects_for_many_namespaces_are_bounded_in_number_and_bytes() -> None:
    assert len(RegistryV1Format().render(BUNDLE, RenderOptions(watch_namespaces=NAMESPACES)).objects) > 40
    assert "the number of objects of the bundle exceeds the limit of 40" in render(
        BUNDLE, limits=Limits(rendered_objects=40)
    )
    assert "the JSON of all objects of the bundle exceeds the limit of 4 KiB" in render(
        BUNDLE, limits=Limits(rendered_bytes=4 * KIB)
    )


def test_an_object_that_configuration_makes_too_large_is_refused() -> None:
    config = {"env": [{"name": "LONG", "value": "x" * 10_000}]}
    told = render(BUNDLE, config={"deploymentConfig": config}, limits=Limits(object_bytes=8 * KIB))
    assert told == (
        "the JSON of Deployment demo-controller exceeds the limit of 8 KiB (RUKPAK_LIMIT_OBJECT_BYTES sets it)"
    )


@pytest.mark.parametrize("sample", ["greeter-v1", "notes"])
def test_the_library_has_the_same_limits(sample: str) -> None:
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_OBJECT_BYTES sets it"):
        rukpak_py.render(str(SAMPLES / sample), limits=Limits(object_bytes=100))


def test_registry_bundle_is_never_rendered_in_the_operators_own_process() -> None:
    assert not RegistryV1Format().stays_small(BUNDLE)
