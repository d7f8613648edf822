"""How reports about bundles lie on a terminal of 100 columns: columns stay, long lines are wrapped."""

from typing import Any

import pytest

from rukpak_py.apply.permissions.grants import grants_of
from rukpak_py.apply.permissions.installer import needs_of
from rukpak_py.cli.reports import comparison, inspection, permissions
from rukpak_py.cli.terminal import Style
from rukpak_py.library.diffs.comparison import compare
from tests.unit.cli.objects import binding, role, rule
from tests.unit.cli.streams import terminal

PINNED = f"registry.example.com/group/controller@sha256:{'0' * 64}"
LONG = "controller-manager-account"


@pytest.fixture
def style(monkeypatch: pytest.MonkeyPatch) -> Style:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    return Style(terminal())


def inspected(**found: Any) -> dict[str, Any]:
    whole = {"format": "plain", "bytes": 1, "files": 1, "largestFile": None}
    return {**whole, "definitions": [], "objects": [], "images": [], **found}


def test_users_of_a_long_image_stand_below_it(style: Style) -> None:
    images = [
        {"image": "registry.example.com/a:1", "pinned": False, "usedBy": ["a"]},
        {"image": PINNED, "pinned": True, "usedBy": ["manager", "relatedImages"]},
    ]
    lines = list(inspection.lines_of(inspected(images=images), style))
    assert lines[-3:] == [
        "  registry.example.com/a:1  tag     a",
        f"  {PINNED}",
        "      digest  manager, relatedImages",
    ]


def test_scopes_of_apis_stand_in_a_column(style: Style) -> None:
    definitions = [
        {"kind": "A", "group": "g", "versions": ["v1"], "scope": "Cluster"},
        {"kind": "Long", "group": "g", "versions": ["v1", "v1beta1"], "scope": "Namespaced"},
    ]
    lines = list(inspection.lines_of(inspected(definitions=definitions), style))
    assert lines[-2:] == ["  A.g     v1          Cluster", "  Long.g  v1 v1beta1  Namespaced"]


def test_headings_of_rights_are_wrapped(style: Style) -> None:
    account = f"{'namespace-' * 4}x/{LONG}"
    objects = [
        role("r", rule("*", "*", group="*"), namespace="team-a"),
        binding("b", "r", account=account, namespace="team-a"),
        binding("c", "r" * 60, account=account),
    ]
    needs = needs_of(objects, install_namespace="x")
    lines = "\n".join(permissions.lines_of(grants_of(objects), needs, style)).splitlines()
    assert max(map(len, lines)) <= 100
    assert "        team-a" in lines
    assert "    every verb  every resource" in lines
    assert f"        cluster: whatever ClusterRole {'r' * 60}" in lines


def test_headings_of_a_diff_are_wrapped(style: Style) -> None:
    old, new = (role(f"{'role-' * 10}{number}", rule("get"), namespace="team-a") for number in (1, 2))
    bound = binding("b", f"{'role-' * 10}2", account=f"{'namespace-' * 4}x/{LONG}", namespace="team-a")
    lines = "\n".join(comparison.lines_of(compare([old], [new, bound]), style)).splitlines()
    assert max(map(len, lines)) <= 100
    assert f"        {'role-' * 10}2" in lines
    assert "        team-a" in lines
