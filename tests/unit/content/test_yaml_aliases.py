"""Aliases: seen without parsing, and bounded by the bytes of JSON that they become."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yaml.error import YAMLError
from yaml.events import AliasEvent, StreamEndEvent

from rukpak_py.content import yaml
from rukpak_py.content.yaml_aliases import AliasBudget, may_have_aliases
from rukpak_py.content.yaml_events import events_of
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

LIMITS = Limits(rendered_bytes=1000)
EXPANDED = r"YAML with its aliases expanded exceeds the limit of 1000 bytes \(RUKPAK_LIMIT_RENDERED_BYTES sets it\)"


@pytest.mark.parametrize(
    "text",
    [
        "a: &a 1\nb: *a\n",
        "[&a 1,*a]",
        "{&a a: 1, b:   *a}",
        '{"a":&a 1,"b":*a}',
        "- &a x\n- *a",
        "? &a x\n: y\n? *a\n: z",
        "a: &a {x: 1}\nb:\n  <<: *a",
        "--- &a\nx: *a",
        "a: !!str &a x\nb: *a",
        "a: &-_1 x\nb: *-_1",
        "\ufeffa: &a 1\nb: *a",
        "a:\u0085  &a 1\u2028b: *a",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_aliases_are_seen(text: str, encoding: str) -> None:
    assert may_have_aliases(text.encode(encoding))


@pytest.mark.parametrize(
    "text",
    [
        "rules:\n- apiGroups: ['*']\n  verbs: [\"*\", get]\n  resources: ['*/scale']",
        "schedule: '*/5 * * * *'",
        "host: '*.example.com'",
        "text: a&b c*d **bold** /* comment */",
        "url: http://a/?b=1&c=2",
        "aliases: *a\n",  # without an anchor this is an error
        "anchors: &a 1\n",
        '{"a": "x & y"}',
    ],
)
def test_texts_common_in_manifests_are_not_taken_for_aliases(text: str) -> None:
    assert not may_have_aliases(text.encode())


PIECES = st.sampled_from(
    [*"&*ab-_:,[]{}?!|>'\"#%@`\\/.()", " ", "  ", "\n", "- ", ": ", "&a", "*a", "&a 1", "*a,", "\u0085", "\u2028", "\t"]
)


@given(st.lists(PIECES, max_size=30).map("".join))
@example("[&a a,*a]")
def test_every_alias_that_the_parser_meets_is_seen(text: str) -> None:
    data = text.encode()
    if not may_have_aliases(data):
        assert not has_aliases(data)


def has_aliases(data: bytes) -> bool:
    """At least one that is anchored."""
    next_event = events_of(data)
    anchors: set[str] = set()
    try:
        while type(event := next_event()) is not StreamEndEvent:
            if type(event) is not AliasEvent:
                anchors.add(getattr(event, "anchor", None) or "")
            elif event.anchor in anchors:
                return True
    except YAMLError:
        pass
    return False


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {TEXT}\nb: [*a, *a, *a, *a, *a]",
        "a: &a [{TEXT}]\nb: [*a, *a, *a, *a, *a]",
        "a: &a {x: {TEXT}}\nb: [*a, *a, *a, *a, *a]",
        "a: &a {{TEXT}: x}\nb: [*a, *a, *a, *a, *a]",
        "a: &a {x: {TEXT}}\nb: [{<<: *a}, {<<: *a}, {<<: *a}, {<<: *a}, {<<: *a}]",
        "a: &a {TEXT}\nb: [*a : 1, *a : 1, *a : 1, *a : 1, *a : 1]",
        "a: &a {TEXT}\nb: &b [*a, *a]\nc: [*b, *b]",
        "a: &a {TEXT}\nb: [*a, *a]\n---\na: &a {TEXT}\nb: [*a, *a, *a]",
        "a: &a x\nb: [*a, *a, *a]\na2: &a {TEXT}\nc: [*a, *a, *a, *a, *a]",
    ],
)
def test_bytes_of_expanded_aliases_are_bounded(text: str) -> None:
    """Four copies fit, the fifth is refused."""
    with pytest.raises(ContentError, match=EXPANDED):
        yaml.load_all(text.replace("{TEXT}", "x" * 225).encode(), limits=LIMITS)
    yaml.load_all(text.replace("{TEXT}", "x" * 150).encode(), limits=LIMITS)


def test_files_may_share_one_budget() -> None:
    aliases = AliasBudget(LIMITS)
    data = b"a: &a " + b"x" * 225 + b"\nb: [*a, *a]"
    yaml.load_all(data, limits=LIMITS, aliases=aliases)
    yaml.load_all(data, limits=LIMITS, aliases=aliases)
    with pytest.raises(ContentError, match=EXPANDED):
        yaml.load_all(data, limits=LIMITS, aliases=aliases)


def test_keys_without_a_json_form_are_counted_too() -> None:
    with pytest.raises(ContentError, match="unsupported map key"):
        yaml.load_all(b"a: &a {null: x, 18446744073709551615: y}\nb: [*a, *a]")
