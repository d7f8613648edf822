"""The plan of an upgrade, as text and as Markdown."""

import io
import re
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.apply.upgrade_document import (
    ChangedImage,
    ObjectName,
    PlannedField,
    PlannedHook,
    PlannedObject,
    Sides,
    Statement,
    UpgradeDocument,
)
from rukpak_py.cli.reports import plan as report
from rukpak_py.cli.reports import plan_markdown
from rukpak_py.cli.terminal import Style

HOSTILE = "x\x1b[2J\n| </code><img src=x onerror=alert(1)> [a](http://b.c) `c` **d** @admins #1 www.e.fg \u202egnp"


def named(name: str, kind: str = "ConfigMap", group: str = "") -> ObjectName:
    return ObjectName(group=group, kind=kind, namespace="shop", name=name)


def plan(**more: Any) -> UpgradeDocument:
    given: dict[str, Any] = {
        "deployment": "shop",
        "state": "Waiting",
        "why": ["it waits for an approval"],
        "bundle": "shop-2",
        "version": Sides(old="1.0", new="2.0"),
        "content": Sides(old="sha256:a", new="sha256:b"),
        "from_revision": 1,
        "digest": "sha256:c",
        "verdict": "Safe",
        "counts": {"changed": 1},
    }
    return UpgradeDocument(**given | more)


def text(one: UpgradeDocument) -> list[str]:
    return [line for part in report.lines_of(one, Style(io.StringIO())) for line in part.split("\n")]


def markdown(one: UpgradeDocument) -> str:
    return "\n".join(plan_markdown.lines_of(one))


def everything(word: str) -> UpgradeDocument:
    """A plan with the word in each place that content can write to."""
    field = PlannedField(path=word, change="changed", old=word, new=word)
    return plan(
        why=[word, word],
        bundle=word,
        version=Sides(old=word, new=word * 2),
        verdict="NeedsReview",
        reviews=[word],
        objects=[
            PlannedObject(object=named(word, word, word), action=word, basis="content", fields=[field], why=word),
            PlannedObject(object=named(word), action="changed", why=word),
        ],
        images=[ChangedImage(object=named(word), container=word, old=word, new=word)],
        rights_gained=[word],
        rights_lost=[word],
        crds=[Statement(object=word, text=word)],
        hooks=[PlannedHook(object=word, events=[word], is_changed=True)],
        irreversible=[word],
    )


def test_plan_names_fields_with_both_values() -> None:
    fields = [
        PlannedField(path="data.a", change="changed", old='"1"', new='"2"'),
        PlannedField(path="data.b", change="added", new='"3"'),
        PlannedField(path="data.c", change="removed", old='"4"'),
    ]
    one = plan(objects=[PlannedObject(object=named("a"), action="changed", basis="dryRun", fields=fields, left_out=2)])
    assert text(one) == [
        "Upgrade of BundleDeployment shop: 1.0 → 2.0",
        "  State    Waiting: it waits for an approval",
        "  Verdict  Safe",
        "  Changes  1 object changed",
        "  Bundle   shop-2",
        "  Content  sha256:a → sha256:b",
        "  Options  the same",
        "  Plan     sha256:c",
        "",
        "Objects",
        "  ~ ConfigMap shop/a",
        '      ~ data.a: "1" → "2"',
        '      + data.b: "3"',
        '      - data.c: "4"',
        "      and 2 fields more",
    ]


def test_values_of_secrets_are_short_digests() -> None:
    old, new = (f"hmac-sha256:1f0e6b2c:{digit * 64}" for digit in "ab")
    field = PlannedField(path="data.password", change="changed", old=old, new=new, secret=True)
    one = plan(objects=[PlannedObject(object=named("s", "Secret"), action="changed", basis="dryRun", fields=[field])])
    assert text(one)[-1] == "      ~ data.password: hmac-sha256:aaaaaaaaaaaa… → hmac-sha256:bbbbbbbbbbbb…"
    assert "aaaaaaaaaaaa…" in markdown(one)


def test_every_list_of_the_plan_has_its_section_and_what_it_leaves_out() -> None:
    left_out = {"reviews": 1, "irreversible": 2, "images": 3, "rightsGained": 4, "rightsLost": 5, "crds": 6, "hooks": 7}
    lines = text(replace(everything("word"), left_out=left_out))
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert headings[1:] == [
        "Reasons for a review",
        "Not undone by going back",
        "Images",
        "Rights gained",
        "Rights lost",
        "CustomResourceDefinitions",
        "Hooks that run",
        "Objects",
    ]
    assert [f"  and {number} more" for number in range(1, 8)] == [line for line in lines if line.startswith("  and ")]


@pytest.mark.parametrize("shown", [text, lambda one: markdown(one).split("\n")], ids=["text", "markdown"])
def test_installed_content_has_nothing_to_do(shown: Any) -> None:
    lines = shown(plan(state="Installed", why=[], counts={}))
    assert "there is nothing to do" in lines[-1]
    assert len(lines) <= 3


def test_installation_is_called_so() -> None:
    one = plan(from_revision=0, content=Sides(new="sha256:b"), version=Sides(new="2.0"), state="Refused", why=["no"])
    assert text(one)[:2] == ["Installation of BundleDeployment shop: 2.0", "  State    Refused: no"]


def test_controls_of_the_terminal_are_escaped_everywhere() -> None:
    shown = "\n".join(text(everything(HOSTILE)))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)


def test_markdown_has_no_structure_of_content() -> None:
    """Everything between the tags is letters, digits and character references; the rest is as without content."""
    hostile, tame = markdown(everything(HOSTILE)), markdown(everything("tame"))
    inner = re.compile(r"<code>([^<]*+)</code>")
    assert inner.sub("", hostile).replace("\n", "") == inner.sub("", tame).replace("\n", "")
    for found in inner.findall(hostile):
        assert re.fullmatch(r"(?:[\w ,/→…-]|&#[0-9]+;)*+", found)
    for word in ("onerror=", "](", "@admins", "www.", "http:", "\x1b", "\u202e", "`c`", "**d**"):
        assert word not in hostile
    assert hostile.count("\n") == tame.count("\n")
