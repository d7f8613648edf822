"""Basic templates: which images they need, and the catalog that they become."""

from typing import Any

import orjson
import pytest

from rukpak_py.catalog.making.templates import BASIC, read_template
from rukpak_py.catalog.model import Bundle
from rukpak_py.core.errors import ContentError


def template(*entries: Any, schema: Any = BASIC) -> bytes:
    return orjson.dumps({"schema": schema, "entries": entries})


def of_image(image: str, **fields: Any) -> dict[str, Any]:
    return {"schema": "olm.bundle", "image": image, **fields}


def test_bundles_are_rendered_where_they_stand_as_often_as_they_stand() -> None:
    data = template(
        of_image("b"), {"schema": "olm.package", "name": "p"}, of_image("a"), of_image("b"), {"schema": "x"}
    )
    found = read_template(data)
    assert found.images == ("b", "a")
    catalog = found.rendered({image: Bundle(package="p", name=f"of-{image}", image=image) for image in found.images})
    assert [one.name for one in catalog.bundles] == ["of-b", "of-a", "of-b"]
    assert [one.name for one in catalog.packages] == ["p"]
    assert [one.schema for one in catalog.custom] == ["x"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            b"Schema: olm.template.basic\nEntries:\n- Schema: olm.bundle\n  Image: i\n", id="keys in any case"
        ),
        pytest.param(template(of_image("i")) + b"\n---\nschema: other\n", id="only the first document"),
        pytest.param(template(of_image("i", name="ignored")), id="140: a name"),
        pytest.param(
            b"schema: olm.template.basic\nother: 1\nentries: [{schema: olm.bundle, image: i}]", id="other keys"
        ),
    ],
)
def test_template_with_one_image(data: bytes) -> None:
    assert read_template(data).images == ("i",)


def test_template_without_entries_is_empty() -> None:
    assert read_template(b"schema: olm.template.basic\nentries: null\n").rendered({}).bundles == ()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (template(of_image("i", package="p")), "entries[0] of the template must be a bundle with `schema` and `image`"),
        (template(of_image("i", properties=[{"type": "t"}])), "entries[0] of the template must be"),
        (template(of_image("i", relatedImages=[{}])), "entries[0] of the template must be"),
        (template({"schema": "x"}, of_image("")), "entries[1] of the template is a bundle without `image`"),
        (template({"name": "x"}), "entries[0] of the template: the document has no schema"),
        (template({"schema": "olm.package", "name": 5}), "entries[0].name of the template: "),
        (template("x"), "entries[0] of the template: "),
        (template(None), "entries[0] of the template: "),
        (template(schema="olm.semver"), "templates of schema olm.semver are not supported, on purpose"),
        (template(schema="olm.template.substitutes"), "are not supported, on purpose"),
        (template(schema="x"), "unknown schema 'x'"),
        (template(schema=None), "has no schema"),
        (template(schema=["olm.semver"]), "must be a string, got array"),
        (b"", "must be an object, got null"),
        (b"- 1", "must be an object, got array"),
        (b"schema: olm.template.basic\nentries: {}", "`entries` of the template must be a list"),
        (b"a: [", "yaml: line"),
    ],
)
def test_template_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(ContentError) as error:
        read_template(data)
    assert text in str(error.value)
