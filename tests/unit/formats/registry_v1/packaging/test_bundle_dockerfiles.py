"""Labels and further instructions of a Dockerfile that is there."""

import pytest

from rukpak_py.formats.registry_v1.bundle_dockerfile import Places, read_dockerfile


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("LABEL a=b", {"a": "b"}),
        ('label a=b c=\'d e\' f="g \\"h\\""', {"a": "b", "c": "d e", "f": 'g "h"'}),
        ("LABEL a=b \\\n  # a comment\n  c=d", {"a": "b", "c": "d"}),
        ("LABEL a b c", {"a": "b c"}),
        ("LABEL a=", {"a": ""}),
        ('LABEL a="\\$x"', {"a": "$x"}),
        ("LABEL a=b=c", {"a": "b=c"}),
        ("# LABEL a=b", {}),
        ("LABEL a=b\nFROM scratch\nLABEL c=d", {"c": "d"}),
        ("LABEL a=b\nLABEL a=c", {"a": "c"}),
    ],
)
def test_labels(written: str, labels: dict[str, str]) -> None:
    assert read_dockerfile(f"FROM scratch\n{written}\n".encode()).labels == labels


@pytest.mark.parametrize("written", ["LABEL a=$X", "LABEL a=${X}", "LABEL a='b", "LABEL a", "LABEL a=b c"])
def test_labels_without_a_value_are_among_the_other_instructions(written: str) -> None:
    found = read_dockerfile(f"FROM scratch\nLABEL good=1\n{written}\n".encode())
    assert (found.labels, found.others) == ({"good": "1"}, (written,))


@pytest.mark.parametrize("written", ["COPY m /manifests/", "COPY ./m manifests", "copy m/ ./manifests/"])
def test_the_bundle_of_a_dockerfile_is_the_one_whose_manifests_it_copies(written: str) -> None:
    found = read_dockerfile(f"FROM scratch\n{written}\n".encode())
    assert found.others == ()
    assert found.is_of(Places(manifests="m", metadata="metadata"))
    assert not found.is_of(Places(manifests="n", metadata="metadata"))


@pytest.mark.parametrize(
    "written",
    ["FROM ubi9", "FROM scratch AS one", "COPY --from=x m /manifests/", "ADD m /manifests/", "RUN true"],
)
def test_other_instructions(written: str) -> None:
    assert read_dockerfile(written.encode()).others == (written,)
