"""Broken YAML and broken JSON inside of it: the place where the mistake is, and advice that fits it."""

import re

import pytest

from rukpak_py.core.findings import Finding
from rukpak_py.formats.validation import Profile, validate
from tests.unit.bundles import bundle, tree_of

BOTH = (Profile.DEFAULT, Profile.OPM)
CSV = "manifests/csv.yaml"
NAME = "  displayName: Demo"


def replaced(old: str, new: str) -> str:
    text = bundle()[CSV].decode()
    assert old in text
    return text.replace(old, new, 1)


def broken(text: str) -> Finding:
    (finding,) = [found for found in validate(bundle(files={CSV: text}), profiles=BOTH) if found.is_error]
    return finding


@pytest.mark.parametrize(
    ("old", "new", "place", "hint"),
    [
        (NAME, '  displayName: "Demo', "9:16", "Close the quote that opens at line 9."),
        (NAME, "  displayName: 'Demo", "11:13", "Close the quote that opens at line 9."),
        (NAME, "   displayName: Demo", "10:3", "Align this line with the fields around it."),
        ("  description: A", "   description: A", "10:15", "Align this line with the fields around it."),
        ("A demo.\n  version", "Demo: a demo.\n  version", "10:20", "Put the value in quotes if it contains `: `"),
        (NAME, "  displayName: {{ .Values.x }}", "9:17", "Write the value itself: templates are not rendered"),
        (NAME, "  displayName: [a, b", "10:14", "Close the bracket or brace that opens at line 9"),
        (NAME, f"<<<<<<< HEAD\n{NAME}\n=======\n{NAME}\n>>>>>>> x", "10:14", "Resolve the merge conflict"),
        (NAME, "  displayName: >=1.0.0 <2.0.0", "9:17", "Put the value in quotes: `>` or `|`"),
        (NAME, '  displayName: "De"mo', "9:20", "Nothing may follow a closing quote"),
    ],
)
def test_broken_yaml(old: str, new: str, place: str, hint: str) -> None:
    found = broken(replaced(old, new))
    assert (found.rule, found.location) == ("RV1-901", f"{CSV}:{place}")
    assert found.hint.startswith(hint)


def test_an_unclosed_quote_of_a_later_document_is_found_in_the_file() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: 'ConfigMap\n"
    (finding,) = [found for found in validate(tree_of({"manifests/a.yaml": text})) if found.is_error]
    assert (finding.location, finding.hint) == ("manifests/a.yaml:5:7", "Close the quote that opens at line 5.")


def test_bytes_that_are_no_text_get_the_general_advice() -> None:
    (finding,) = [found for found in validate(tree_of({"manifests/a.yaml": b"a: \xff\n"})) if found.is_error]
    assert finding.hint == "Save the file as UTF-8 without control characters."


@pytest.mark.parametrize(
    ("scalar", "place"),
    [
        ('|\n      [\n        {\n          "a": 1 x\n        }\n      ]', "9:18"),
        ('|-\n      [{\n\n        "a": 1 x}]', "9:16"),
        ("'[{\"a\": 1 x}]'", "6:29"),
        ('|\r\n      [{"a": 1 x}]\r', "7:16"),
        ('|2\n      [{"a": 1 x}]', "7:16"),
    ],
)
def test_a_broken_example_is_found_in_the_file(scalar: str, place: str) -> None:
    found = broken(re.sub("alm-examples: .*", lambda _: f"alm-examples: {scalar}", bundle()[CSV].decode()))
    assert (found.rule, found.location) == ("RV1-223", f"{CSV}:{place}")
    assert found.message == "invalid example: expected `,` or `}`, got 'x'"


@pytest.mark.parametrize("scalar", ['"[{\\"a\\": 1 x}]"', '>-\n      [{"a":\n      1 x}]'])
def test_a_broken_example_that_is_folded_is_told_by_its_text(scalar: str) -> None:
    found = broken(re.sub("alm-examples: .*", lambda _: f"alm-examples: {scalar}", bundle()[CSV].decode()))
    assert found.location == f"{CSV}:6:19"
    assert found.message == (
        "invalid example: expected `,` or `}`, got 'x' at line 1, column 10 of the text, near `[{\"a\": 1 x}]`"
    )


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("[1,]", "expected a value, got ']'"),
        ('[{"a": 1}', "expected `,` or `]`, got the end"),
        ("[] []", "expected the end, got '['"),
    ],
)
def test_defect_of_an_example_is_reported(written: str, words: str) -> None:
    found = broken(re.sub("alm-examples: .*", lambda _: f"alm-examples: '{written}'", bundle()[CSV].decode()))
    assert found.message == f"invalid example: {words}"
