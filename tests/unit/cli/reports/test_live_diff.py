"""A comparison of content with the cluster, as text and as JSON."""

import io
import re

from rukpak_py.apply.upgrade_document import ObjectName, PlannedField, PlannedObject
from rukpak_py.cli.reports.live_diff import document, lines_of
from rukpak_py.cli.terminal import Style


def planned(action: str, name: str = "a", *fields: PlannedField, why: str = "") -> PlannedObject:
    about = ObjectName(group="", kind="ConfigMap", namespace="shop", name=name)
    return PlannedObject(object=about, action=action, fields=list(fields), why=why)


def lines(*objects: PlannedObject, hooks: int = 0) -> list[str]:
    return list(lines_of(objects, hooks, Style(io.StringIO())))


def test_objects_are_counted_by_what_becomes_of_them() -> None:
    field = PlannedField(path="data.a", change="changed", old='"1"', new='"2"')
    refused = planned("refused", why="it is another's")
    assert lines(refused, planned("changed", "b", field), planned("created", "c")) == [
        "  ! ConfigMap shop/a: refused",
        "      it is another's",
        "  ~ ConfigMap shop/b",
        '      ~ data.a: "1" → "2"',
        "  + ConfigMap shop/c",
        "",
        "1 object created, 1 object changed, 1 object refused",
    ]


def test_no_differences_are_told_and_hooks_that_were_not_compared() -> None:
    assert lines(hooks=2) == ["no differences", "2 hooks not compared"]


def test_refused_objects_alone_are_counted() -> None:
    assert lines(planned("refused"))[-1] == "1 object refused"


def test_controls_of_the_terminal_are_escaped() -> None:
    shown = "\n".join(lines(planned("refused", "\x1b[2J", why="\x1b[2J\n\u202e")))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", shown)


def test_json_names_objects_and_fields() -> None:
    found = document("shop", [planned("changed", "b", PlannedField(path="data.a", change="added", new="1"))], 1)
    assert (found["deployment"], found["hooks"]) == ("shop", 1)
    (one,) = found["objects"]
    assert one["object"] == {"group": "", "kind": "ConfigMap", "namespace": "shop", "name": "b"}
    assert one["fields"] == [{"path": "data.a", "change": "added", "old": None, "new": "1", "secret": False}]
