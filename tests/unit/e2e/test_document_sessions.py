"""Console sessions of the documents are found, and compared with what commands print."""

import pytest

from e2e.sessions import Step, agree, steps

PAGE = """
Text, and a block of another kind:

```
$ not a session
```

```console
$ first one
its answer
$ second <<EOF
line
EOF
two
lines
$ silent
```
"""


def test_commands_are_found_with_what_they_print() -> None:
    assert steps(PAGE) == [
        Step(command="first one", output="its answer"),
        Step(command="second <<EOF\nline\nEOF", output="two\nlines"),
        Step(command="silent", output=""),
    ]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("NAME   AGE\nhello  5s", "NAME AGE\nhello 2m3s\n"),
        ("core-764fd97d6d-zgcqx  Running", "core-5c9f8b7d6-bcdfg   Running"),
        ("first\n...\nlast", "first\nlast"),
        ("first\n...\nlast", "first\na\nb\nlast"),
        ("...", ""),
        ("archive (... MB)", "archive (425 MB)"),
        ("1s (x2 over 1s)  said", "3s   said"),
        ("", "\n"),
    ],
)
def test_sessions_agree_whatever_may_differ_between_runs(shown: str, printed: str) -> None:
    assert agree(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("hello created", "hello configured"),
        ("", "Error"),
        ("first\n...\nlast", "first\na"),
        ("a.c", "abc"),
        ("one", "one\ntwo"),
    ],
)
def test_other_words_are_a_difference(shown: str, printed: str) -> None:
    assert not agree(shown, printed)
