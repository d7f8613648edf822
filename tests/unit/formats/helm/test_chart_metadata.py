"""Chart.yaml of any form: a value, or a refusal that says why."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.helm.metadata import ChartDependency, dependencies_of, metadata_of, validate

names = st.sampled_from(["name", "version", "dependencies", "maintainers", "keywords", "annotations", "alias", "tags"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(), inner, max_size=4),
)


@given(values)
def test_nothing_but_refusals(document: Any) -> None:
    with suppress(ContentError):
        metadata = metadata_of(document)
        assert isinstance(metadata.name, str)
        validate(metadata)
    with suppress(ContentError):
        dependencies_of(document)


@pytest.mark.parametrize(
    ("value", "text"), [("1.10", "1.10"), (1.5, "1.5"), (2.0, "2"), (3, "3"), (True, "true"), (None, "")]
)
def test_numbers_and_booleans_are_taken_as_text(value: object, text: str) -> None:
    assert metadata_of({"name": "a", "version": "1.0.0", "appVersion": value}).app_version == text


def test_fields_that_are_read_from_a_chart() -> None:
    found = metadata_of(
        {
            "apiVersion": "v2",
            "name": "web",
            "version": "1.0.0",
            "kubeVersion": ">=1.30",
            "type": "application",
            "description": "A shop",
            "dependencies": [{"name": "db", "version": "^2", "repository": "oci://example", "alias": "store"}],
        }
    )
    assert (found.api_version, found.kube_version, found.type, found.description) == (
        "v2",
        ">=1.30",
        "application",
        "A shop",
    )
    assert found.dependencies == (ChartDependency(name="db", version="^2", repository="oci://example", alias="store"),)
    assert metadata_of({}).api_version == "v1"
