"""Templates of image references: vectors 115 and 116."""

import pytest

from rukpak_py.catalog.making.image_template import ImageTemplate
from rukpak_py.core.errors import ContentError
from tests.unit.catalog.catalogs import bundle


@pytest.mark.parametrize(
    ("template", "image"),
    [
        ("example.com/{{.Package}}/{{ .Name }}:{{.Version}}", "example.com/p/p.v1.0.0:1.0.0"),
        ("example.com/{x}:1}}", "example.com/{x}:1}}"),
        ("", ""),
    ],
)
def test_image_of_a_bundle(template: str, image: str) -> None:
    assert ImageTemplate.parse(template).image_of(bundle("1.0.0")) == image


@pytest.mark.parametrize("template", ["{{", "{{.Nope}}", "{{.Name", "{{{.Name}}", '{{printf "x"}}', "{{.Name | len}}"])
def test_other_actions_are_refused(template: str) -> None:
    with pytest.raises(ContentError, match="nothing else in double braces"):
        ImageTemplate.parse(template)
