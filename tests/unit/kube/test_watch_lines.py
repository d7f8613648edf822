"""Lines are found however the network cuts them."""

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.kube.watching import Lines

texts = st.lists(st.binary(max_size=20).map(lambda text: text.replace(b"\n", b"")), max_size=8)


@given(texts, st.data())
def test_any_cut_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    found = Lines()
    pieces = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert [line for piece in pieces for line in found.feed(piece)] == [line for line in lines if line]


def test_an_unfinished_line_waits() -> None:
    lines = Lines()

    assert list(lines.feed(b'{"a":')) == []
    assert list(lines.feed(b"1}")) == []
    assert list(lines.feed(b"\n{")) == [b'{"a":1}']
