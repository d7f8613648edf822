"""docs/troubleshooting.md beside the reasons and the messages of the code; `tools.troubleshooting` reads the page."""

import ast
import re
from pathlib import Path

import pytest

from rukpak_py.api.names import EventReason, Reason
from rukpak_py.certificates.own_watch import REASONS
from tools import troubleshooting

PROGRAM = Path(troubleshooting.__file__).parent.parent / "rukpak_py"
ENTRIES = troubleshooting.entries(troubleshooting.PAGE.read_text(encoding="utf-8"))
NAMES = [entry.reason for entry in ENTRIES]
# The API server, kubelets, Helm and schemas of users have these texts.
OF_OTHERS = (
    "field is immutable; ",
    "may not change once set; ",
    "updates to … are forbidden; ",
    "Forbidden: may not be specified when ",
    "may not specify more than 1 ",
    "cannot be both set",
    "exactly one of ",
    "no matches for kind ",
    "is forbidden: violates PodSecurity ",
    " cannot watch resource ",
    ": CreateContainerConfigError: ",
    ": CrashLoopBackOff: ",
    ": ErrImagePull",
    ": ImagePullBackOff",
    "ContainersNotReady: ",
    "field not declared in schema",
    "-install hook: ",
    "-upgrade hook: ",
)


def test_every_reason_has_one_entry_and_every_entry_a_reason() -> None:
    known = {*Reason, *EventReason, *REASONS.values()}
    assert sorted(NAMES) == sorted({str(reason) for reason in known})


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_entry_has_its_parts_in_order(entry: troubleshooting.Entry) -> None:
    expected = (troubleshooting.WHERE, troubleshooting.MEANING, troubleshooting.TO_DO)
    assert entry.parts == expected + (troubleshooting.MESSAGE,) * len(entry.messages)
    for text in (entry.where, entry.meaning, entry.to_do, *(message.to_do for message in entry.messages)):
        assert text.endswith((".", "`."))
        assert "**" not in troubleshooting.first_sentence(text)
    assert all(message.texts for message in entry.messages)


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_first_sentence_of_a_way_out_fits_a_line(entry: troubleshooting.Entry) -> None:
    for text in (entry.to_do, *(message.to_do for message in entry.messages)):
        sentence = troubleshooting.first_sentence(text)
        assert len(sentence) <= 300
        assert "\n\n" not in sentence


def test_page_lists_its_entries_in_order() -> None:
    page = troubleshooting.PAGE.read_text(encoding="utf-8")
    overview = page[page.index("## By reason") : page.index("Each section has the same parts")]
    assert re.findall(r"\[`(\w+)`\]\(#(\w+)\)", overview) == [(entry.reason, entry.anchor) for entry in ENTRIES]


def test_messages_are_texts_of_the_program() -> None:
    known = [text for file in PROGRAM.rglob("*.py") for text in _texts(file)]
    quoted = [text for entry in ENTRIES for message in entry.messages for text in message.texts]
    missing = [text for text in quoted if not any(part in text for part in OF_OTHERS) and not _is_among(text, known)]
    assert missing == []


def _texts(file: Path) -> list[str]:
    """The strings of a file, with `…` for what is filled in."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            found.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


def _is_among(text: str, known: list[str]) -> bool:
    """Whether the longest piece that one place of the program writes is in a string of it."""
    piece = max(re.split(r'…|"|[:;.] |\[|\]', text), key=len).strip(" ;:.")
    return any(piece in string for string in known)
