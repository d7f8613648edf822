"""Tables and texts of commands about catalogs, as people see them at 100 columns."""

import json
import sys
from pathlib import Path

import pytest

from rukpak_py.cli.reports.columns import columns
from tests.unit.catalog.samples import (
    Json,
    bundle,
    channel,
    deprecations,
    entry,
    one_bundle,
    package,
    package_property,
    sample,
)
from tests.unit.cli.catalogs.conftest import WriteCatalog
from tests.unit.cli.running import CommandLine

DIGEST = "sha256:" + "ab" * 32
PROVIDED = {"type": "olm.gvk", "value": {"group": "example.com", "version": "v1", "kind": "Widget"}}
REQUIRED = {"type": "olm.package.required", "value": {"packageName": "q", "versionRange": ">=1.0.0"}}
HOSTILE = "a\x1b[2Jb\u202ec\x9b"


@pytest.fixture
def root(write_catalog: WriteCatalog) -> Path:
    """Two channels; `b` has a bundle from which its head cannot be reached."""
    return write_catalog(
        [
            package(),
            channel("a", "v2 replaces v1 skips v0", "v1", "v0"),
            channel("b", entry("v3", skipRange="<2.0.0"), "v2"),
            bundle("v0"),
            bundle("v1", PROVIDED),
            bundle("v2", PROVIDED, REQUIRED, image=f"example.com/p-bundle@{DIGEST}"),
            bundle(
                "v3", image=f"example.com/p-bundle@{DIGEST}", relatedImages=[{"name": "x", "image": "example.com/x"}]
            ),
            deprecations(("olm.channel", "b", "use a")),
        ]
    )


def test_list_of_a_catalog_that_is_not_valid_has_its_errors(rukpakctl: CommandLine, root: Path) -> None:
    ran = rukpakctl("catalog", "list", "channels", root)
    assert (ran.status, ran.out) == (3, "")
    assert ran.err.splitlines()[:2] == [
        "Error: the catalog cannot be used:",
        f"  {root}/catalog.json:3:122  error  FBC-M08",
    ]


@pytest.fixture
def valid(write_catalog: WriteCatalog) -> Path:
    return write_catalog(
        [
            package(),
            channel("a", entry("v2 replaces v1 skips v0", skipRange="<1.0.0"), "v1", "v0"),
            channel("b", "v1"),
            bundle("v0"),
            bundle("v1", PROVIDED),
            bundle("v2", PROVIDED, REQUIRED, image=f"example.com/p-bundle@{DIGEST}"),
            deprecations(("olm.channel", "b", "use a")),
        ],
        "valid",
    )


def test_lists_are_tables(rukpakctl: CommandLine, valid: Path) -> None:
    ran = rukpakctl("catalog", "list", "channels", valid)
    assert ran.out.splitlines() == [
        "PACKAGE  CHANNEL  ENTRIES  HEAD      DEPRECATED",
        "p        a*       3        p.v2.0.0  -",
        "p        b        1        p.v1.0.0  use a",
    ]
    ran = rukpakctl("catalog", "list", "bundles", valid, "p")
    assert ran.out.splitlines()[0].split("  ")[0] == "PACKAGE"
    assert ran.out.splitlines()[-2].split()[:6] == ["p", "a", "p.v2.0.0", "p.v1.0.0", "p.v0.0.0", "<1.0.0"]
    assert DIGEST in ran.out  # a pipe gets all of it, whatever the width


def test_wide_tables_fit_a_terminal(rukpakctl: CommandLine, valid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = rukpakctl("catalog", "list", "bundles", valid).out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "example.com/p-bundle…bab" in lines[-2]


def test_long_cells_lose_their_middle() -> None:
    rows = [("p", "operator.v1.0.0", "example.com/an/image@sha256:" + "a" * 64)]
    _, row = columns(("A", "B", "C"), rows, width=50)
    assert row == "p  operator.v1.0.0  example.com/an/…aaaaaaaaaaaaaa"
    assert len(row) <= 50
    assert list(columns(("A", "B", "C"), rows))[1].endswith("a" * 64)
    assert len(list(columns(("A", "B", "C"), [("x" * 90,) * 3], width=10))[1]) == 3 * 12 + 2 * 2


@pytest.mark.parametrize("what", ["packages", "channels", "bundles"])
def test_lists_of_an_unknown_package_are_failures(rukpakctl: CommandLine, valid: Path, what: str) -> None:
    ran = rukpakctl("catalog", "list", what, valid, "q")
    assert (ran.status, ran.out, ran.err) == (3, "", 'Error: package "q" not found\n')


def test_questions_and_their_answers(rukpakctl: CommandLine, valid: Path) -> None:
    def ask(*arguments: str) -> tuple[int, list[str]]:
        ran = rukpakctl("catalog", "query", *arguments, "--catalog", valid)
        assert ran.err == ""
        return ran.status, ran.out.splitlines()

    assert ask("kind", "Widget", "--group", "example.com", "--version", "v1") == (
        0,
        [
            "PACKAGE  KIND                     NEWEST BUNDLE  BUNDLES  CHANNELS (HEAD) THAT HAVE IT",
            "p        Widget (example.com/v1)  p.v2.0.0       2        a (p.v2.0.0), b (p.v1.0.0)",
        ],
    )
    assert ask("kind", "Widget.example.com") == ask("kind", "Widget", "--group", "example.com")
    assert ask("kind", "widgets") == (1, ["no bundle of the catalog provides widgets; did you mean Widget?"])
    assert ask("kind", "Widget", "--version", "v2") == (1, ["no bundle of the catalog provides Widget"])
    assert ask("path", "p", "1.0.0") == (
        0,
        ["p.v1.0.0 -> p.v2.0.0: 1 upgrade", "  p.v2.0.0  (replaces, channel a)"],
    )
    assert ask("path", "p", "p.v1.0.0", "--channel", "b") == (0, ["p.v1.0.0: is the head"])
    assert ask("path", "p", "7.0.0") == (
        1,
        [
            "no upgrade leads from 7.0.0 to the head of a",
            "hint: the nearest bundle is the head p.v2.0.0; bundles that can be upgraded: p.v1.0.0, p.v0.0.0",
        ],
    )
    assert ask("newest", "p") == (
        0,
        [
            "CHANNEL  BUNDLE    VERSION  HEAD  DEPRECATED",
            "a*       p.v2.0.0  2.0.0    yes   -",
            "b        p.v1.0.0  1.0.0    yes   use a",
        ],
    )
    assert ask("bundle", "p", "2.0.0") == (
        0,
        [
            "p.v2.0.0 (2.0.0)",
            "provides:",
            "  Widget (example.com/v1)",
            "requires:",
            "  package q >=1.0.0: missing in the catalog",
        ],
    )
    assert ask("stranded", "p") == (0, ["the head of each channel can be reached from all of its bundles"])


@pytest.mark.parametrize(
    "arguments",
    [("path", "q", "1.0.0"), ("newest", "q"), ("bundle", "p", "9.9.9"), ("stranded", "p", "--channel", "x")],
)
def test_questions_about_the_unknown_are_failures(
    rukpakctl: CommandLine, valid: Path, arguments: tuple[str, ...]
) -> None:
    ran = rukpakctl("catalog", "query", *arguments, "--catalog", valid)
    assert (ran.status, ran.out) == (3, "")
    assert ran.err.startswith("Error: package ")


def test_differences(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    long = {"type": "note", "value": "x" * 200 + "1" + "y" * 200}
    old = write_catalog([package(), channel("a", "v1"), bundle("v1", long)], "old")
    new = write_catalog(
        [
            package(),
            channel("a", "v2 replaces v1", "v1"),
            bundle("v1", long | {"value": "x" * 200 + "2" + "y" * 200}),
            bundle("v2"),
        ],
        "new",
    )
    ran = rukpakctl("catalog", "diff", old, new)
    assert ran.out.splitlines() == [
        "package p",
        "  ~ channel a, head: p.v1.0.0 -> p.v2.0.0",
        "    + channel a, entry p.v2.0.0",
        "    + bundle p.v2.0.0: 2.0.0",
        "  ~ property p.v1.0.0 note: …" + "x" * 30 + "1" + "y" * 30 + "… ->",
        "      …" + "x" * 30 + "2" + "y" * 30 + "…",
    ]
    assert ran.status == 0
    assert rukpakctl("catalog", "diff", old, new, "--exit-code").status == 1
    ran = rukpakctl("catalog", "diff", old, old, "--exit-code")
    assert (ran.status, ran.out) == (0, "no differences\n")
    assert rukpakctl("catalog", "diff", old, old.parent / "missing").status == 3


def test_images(rukpakctl: CommandLine, valid: Path) -> None:
    assert rukpakctl("catalog", "images", valid).out.splitlines() == [
        "example.com/p-bundle:v1",
        f"example.com/p-bundle@{DIGEST}",
    ]
    assert rukpakctl("catalog", "images", valid, "--unpinned", "--package", "p").out == "example.com/p-bundle:v1\n"
    assert rukpakctl("catalog", "images", valid, "--package", "q").status == 3


def test_images_are_printed_as_tools_copy_them(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    root = write_catalog(
        one_bundle(image=f"example.com/a:v1@{DIGEST}", relatedImages=[{"image": f"example.com/a@{DIGEST}"}])
    )
    assert rukpakctl("catalog", "images", root).out == f"example.com/a@{DIGEST}\n"
    found = json.loads(rukpakctl("catalog", "images", root, "-o", "json").out)
    assert [(one["image"], one["pullSpec"]) for one in found] == [
        (f"example.com/a:v1@{DIGEST}", f"example.com/a@{DIGEST}"),
        (f"example.com/a@{DIGEST}", f"example.com/a@{DIGEST}"),
    ]


def test_bundle_images_leave_out_related_ones(rukpakctl: CommandLine, root: Path) -> None:
    assert "example.com/x\n" in rukpakctl("catalog", "images", root).out
    assert "example.com/x\n" not in rukpakctl("catalog", "images", root, "--bundle-images").out


@pytest.mark.parametrize(("output", "start"), [("mermaid", "graph LR\n"), ("dot", "digraph "), ("svg", "<svg ")])
def test_pictures(rukpakctl: CommandLine, root: Path, output: str, start: str) -> None:
    ran = rukpakctl("catalog", "graph", root, "-o", output, "--package", "p", "--channel", "a")
    assert (ran.status, ran.out.startswith(start)) == (0, True)
    assert "p.v1.0.0" in ran.out
    assert "p.v3.0.0" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--channel", "x"), "no package of the catalog has a channel 'x'"),
        (("--package", "p", "--channel", "x"), 'package "p" has no channel "x"; choose one of its channels: a, b'),
        (("--package", "q"), 'package "q" not found'),
        (("--minimum-edge", "q"), 'unknown minimum edge name: "q"'),
    ],
)
def test_pictures_of_the_unknown_are_failures(
    rukpakctl: CommandLine, root: Path, arguments: tuple[str, ...], told: str
) -> None:
    ran = rukpakctl("catalog", "graph", root, *arguments)
    assert (ran.status, ran.out, ran.err) == (3, "", f"Error: {told}\n")


def hostile() -> list[Json]:
    return [
        {"schema": "olm.package", "name": HOSTILE, "defaultChannel": HOSTILE, "description": HOSTILE},
        {"schema": "olm.channel", "package": HOSTILE, "name": HOSTILE, "entries": [{"name": HOSTILE}]},
        {
            "schema": "olm.bundle",
            "package": HOSTILE,
            "name": HOSTILE,
            "image": "example.com/x",
            "properties": [
                {"type": "olm.package", "value": {"packageName": HOSTILE, "version": "1.0.0"}},
                {"type": "olm.gvk", "value": {"group": HOSTILE, "version": "v1", "kind": HOSTILE}},
            ],
            "relatedImages": [{"name": HOSTILE, "image": HOSTILE}],
        },
        {"schema": HOSTILE, "package": "", "name": HOSTILE},
        {
            "schema": "olm.deprecations",
            "package": HOSTILE,
            "entries": [{"reference": {"schema": "olm.package"}, "message": HOSTILE}],
        },
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        *(("validate", "C", "-o", output) for output in ("text", "json", "sarif", "github")),
        *(("lint", "C", "-o", output) for output in ("text", "json", "sarif", "github")),
        *(
            ("list", what, "C", "-o", output)
            for what in ("packages", "channels", "bundles")
            for output in ("text", "json")
        ),
        *(("graph", "C", "-o", output) for output in ("mermaid", "dot", "svg")),
        *(("images", "C", "-o", output) for output in ("text", "json")),
        *(("diff", "V", "C", "-o", output) for output in ("text", "json")),
        *(("render", "C", "-o", output) for output in ("json", "yaml")),
        *(("query", "newest", HOSTILE, "--catalog", "C", "-o", output) for output in ("text", "json")),
        ("query", "kind", HOSTILE, "--catalog", "C"),
        ("query", "bundle", HOSTILE, HOSTILE, "--catalog", "C"),
        ("query", "path", HOSTILE, HOSTILE, "--catalog", "C"),
        ("query", "stranded", HOSTILE, "--catalog", "C"),
        ("filter", "C", "--package", HOSTILE),
        ("fmt", "C"),
    ],
    ids=" ".join,
)
def test_hostile_names_control_no_terminal(
    rukpakctl: CommandLine,
    write_catalog: WriteCatalog,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    paths = {"C": str(write_catalog(hostile())), "V": str(write_catalog(sample("v1"), "v"))}
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    ran = rukpakctl("catalog", *(paths.get(one, one) for one in arguments))
    assert ran.status in {0, 1, 3}
    assert not {"\x1b", "\u202e", "\x9b"} & set(ran.out + ran.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("filter", "C", "--package", "p"),
        ("render", "C"),
        ("list", "packages", "C"),
        ("list", "channels", "C"),
        ("query", "newest", "p", "--catalog", "C"),
        ("resolve", "p", "--catalog", "C"),
        ("graph", "C"),
    ],
    ids=" ".join,
)
def test_hostile_texts_of_a_valid_catalog_control_no_terminal(
    rukpakctl: CommandLine,
    write_catalog: WriteCatalog,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    blobs = [
        {"schema": "olm.package", "name": "p", "defaultChannel": HOSTILE, "description": HOSTILE},
        {"schema": "olm.channel", "package": "p", "name": HOSTILE, "entries": [{"name": "p.v1.0.0"}]},
        *(blob for blob in sample("v1") if blob["schema"] == "olm.bundle"),
        {
            "schema": "olm.deprecations",
            "package": "p",
            "entries": [{"reference": {"schema": "olm.channel", "name": HOSTILE}, "message": HOSTILE}],
        },
    ]
    catalog = str(write_catalog(blobs))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    ran = rukpakctl("catalog", *(catalog if one == "C" else one for one in arguments))
    assert ran.status == 0, ran.err
    assert not {"\x1b", "\u202e", "\x9b"} & set(ran.out + ran.err)


def test_version_that_is_no_version_is_told_in_lists(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    broken = bundle("v1") | {"properties": [package_property("1")]}
    ran = rukpakctl("catalog", "list", "bundles", write_catalog([package(), channel("a", "v1"), broken]))
    assert ran.status == 3
    assert "FBC-C15" in ran.err
