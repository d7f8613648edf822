"""The short form of an upgrade that waits."""

import io

from rukpak_py.api.upgrades import PendingUpgrade, PlanCounts, counts_text
from rukpak_py.cli.reports.pending_upgrade import lines_of
from rukpak_py.cli.terminal import Style


def lines(pending: PendingUpgrade) -> list[str]:
    return list(lines_of("web", pending, Style(io.StringIO())))


def test_whole_short_form_is_shown() -> None:
    pending = PendingUpgrade(
        digest="sha256:1",
        bundle="web-2",
        version="2.0",
        reason="NotApproved",
        verdict="NeedsReview",
        counts=PlanCounts(created=1, pruned=2),
        rights_gained=("ServiceAccount shop/web: get: secrets",),
        crds=("things.example.com: warn",),
        hooks=("Job shop/migrate",),
        names=("ConfigMap shop/a",),
    )
    assert lines(pending) == [
        "Upgrade of BundleDeployment web to Bundle web-2 (version 2.0)",
        "  NeedsReview: 1 object created, 2 objects deleted",
        "  rights gained",
        "    ServiceAccount shop/web: get: secrets",
        "  CustomResourceDefinitions",
        "    things.example.com: warn",
        "  hooks that run",
        "    Job shop/migrate",
        "  objects",
        "    ConfigMap shop/a",
    ]


def test_absent_parts_are_left_out() -> None:
    pending = PendingUpgrade(digest="sha256:1", bundle="web-2", reason="NotApproved", verdict="Safe")
    assert lines(pending) == ["Upgrade of BundleDeployment web to Bundle web-2", "  Safe: no change of objects"]


def test_full_list_says_that_it_shows_the_first_ones() -> None:
    names = tuple(f"ConfigMap shop/{number}" for number in range(20))
    pending = PendingUpgrade(digest="sha256:1", bundle="b", reason="NotApproved", verdict="Safe", names=names)
    assert "  objects, the first 20" in lines(pending)


def test_controls_of_the_terminal_are_escaped() -> None:
    hooks = ("Job shop/\x1b[2Jx",)
    pending = PendingUpgrade(digest="sha256:1", bundle="b", reason="NotApproved", verdict="Safe", hooks=hooks)
    assert "    Job shop/\\u001b[2Jx" in lines(pending)


def test_counts_name_each_kind_of_change_once() -> None:
    counts = PlanCounts(created=1, changed=2, taken=3, replaced=4, pruned=5, kept=6)
    assert counts_text(counts) == (
        "1 object created, 2 objects changed, 3 objects taken over, 4 objects replaced, 5 objects deleted, "
        "6 objects kept"
    )
