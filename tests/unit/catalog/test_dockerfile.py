"""The Dockerfile of a catalog, and the labels that options give."""

import pytest

from rukpak_py.catalog.making.dockerfile import DEFAULT_IMAGE, SCRATCH, dockerfile, labels_of
from rukpak_py.core.errors import ContentError


def instructions(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_catalog_is_served_by_the_base_image() -> None:
    assert instructions(
        dockerfile("cat", base_image="base", builder_image="builder", labels={"z": "1", "a": 'x"\\y'})
    ) == [
        "FROM builder as builder",
        "ADD cat /configs",
        'RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]',
        "FROM base",
        'ENTRYPOINT ["/bin/opm"]',
        'CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]',
        "COPY --from=builder /configs /configs",
        "COPY --from=builder /tmp/cache /tmp/cache",
        "LABEL operators.operatorframework.io.index.configs.v1=/configs",
        'LABEL "a"="x\\"\\\\y"',
        'LABEL "z"="1"',
    ]


def test_base_scratch_has_nothing_to_run() -> None:
    text = dockerfile("cat", base_image=SCRATCH)
    assert text.startswith("# The builder image")
    assert f"FROM {DEFAULT_IMAGE} as builder\n" in text
    assert "ENTRYPOINT" not in text
    assert "#       catalogDir: /configs\n" in text


@pytest.mark.parametrize(
    ("directory", "base", "builder", "labels"),
    [
        ("cat", "base", SCRATCH, {}),
        ("cat", "", "builder", {}),
        ("", "base", "builder", {}),
        ("cat\nRUN x", "base", "builder", {}),
        ("cat", "base", "builder", {"a": "b\nRUN x"}),
    ],
)
def test_bad_argument_is_refused(directory: str, base: str, builder: str, labels: dict[str, str]) -> None:
    with pytest.raises(ContentError):
        dockerfile(directory, base_image=base, builder_image=builder, labels=labels)


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        (["k=v", "a=b=c,z=", "k=w"], {"k": "w", "a": "b=c", "z": ""}),
        (['"a=1,2"', "=x"], {"a": "1,2", "": "x"}),
        (['"a=say ""x""",b='], {"a": 'say "x"', "b": ""}),
        ([], {}),
    ],
)
def test_labels_of_options(options: list[str], labels: dict[str, str]) -> None:
    assert labels_of(options) == labels


@pytest.mark.parametrize("option", ["novalue", 'q="x y"', "", "a=1,", '"a=1', '"a=1"x'])
def test_option_that_is_no_label(option: str) -> None:
    with pytest.raises(ContentError):
        labels_of([option])
