"""Files that formatting would change in meaning are refused, and comments are found wherever they stand."""

import pytest

from rukpak_py.catalog.formatting import formatted
from rukpak_py.core.errors import ContentError


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"schema: x\n...\nschema: z\n", id="behind the end of a document"),
        pytest.param(b"{schema: x}\n{schema: z}\n", id="flow mappings one after the other"),
        pytest.param(b'\xef\xbb\xbf{"schema":"x"}\n{"schema":"z"}\n', id="objects behind a byte order mark"),
        pytest.param(b"schema: x # c\n...\nfoo: bar baz\nq\n", id="what no reader parses"),
        pytest.param(b'# comment\n{"schema":"x"}\n{"schema":"z"}\n', id="objects behind a comment"),
    ],
)
def test_content_that_no_reader_reads_is_refused(data: bytes) -> None:
    with pytest.raises(ContentError, match="content is not read by any reader"):
        formatted(data)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"{schema: x, # keep me\n a: 1}\n", (1,)),
        (b'{"schema": "x"}\n---\n# important\nschema: z\n', (3,)),
        (b"schema: x\ntext: 'a # b'\nurl: http://a#b\n", ()),
    ],
)
def test_comments_of_every_form_of_file_are_found(data: bytes, lines: tuple[int, ...]) -> None:
    assert formatted(data).comments == lines


def test_keys_that_differ_in_their_case_only_are_refused() -> None:
    entry = b'{"schema":"olm.channel","name":"a","package":"p","entries":[{"name":"b","Name":"c"}]}'
    with pytest.raises(ContentError, match="differ from 'Name' in their case only"):
        formatted(entry)
