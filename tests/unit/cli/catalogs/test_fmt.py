"""`catalog fmt`: files in one form, written in one step, with the values that they had."""

import errno
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak_py.catalog.formatting import formatted
from rukpak_py.catalog.read_file import read_file
from rukpak_py.content import yaml
from rukpak_py.content.yaml_dump import dump_all
from tests.unit.catalog.samples import Json, bundle, channel, package, sample, stream
from tests.unit.cli.catalogs.conftest import WriteCatalog
from tests.unit.cli.running import CommandLine

VALID = sample("v1", "v2 replaces v1")
UNFORMATTED = stream(VALID)
FORMATTED = formatted(UNFORMATTED).text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.json"
    path.write_bytes(UNFORMATTED)
    return path


def test_formatted_file_is_named_and_stays_as_it_is_the_second_time(rukpakctl: CommandLine, file: Path) -> None:
    ran = rukpakctl("catalog", "fmt", file)
    assert (ran.status, ran.out, ran.err) == (0, f"formatted {file}\n", "")
    assert file.read_bytes() == FORMATTED
    before = file.stat()
    ran = rukpakctl("catalog", "fmt", file)
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_formatted_json_is_what_render_prints(rukpakctl: CommandLine, file: Path) -> None:
    rukpakctl("catalog", "fmt", file)
    assert file.read_text() == rukpakctl("catalog", "render", file).out


def test_files_of_a_directory_are_formatted_but_those_that_are_ignored(
    rukpakctl: CommandLine, write_catalog: WriteCatalog
) -> None:
    root = write_catalog(VALID)
    (root / ".indexignore").write_text("README\n")
    (root / "README").write_text("prose: [\n")
    (root / "a").mkdir()
    (root / "a/custom.yaml").write_text("value:   1\nschema: example\n")
    ran = rukpakctl("catalog", "fmt", root)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [f"formatted {root}/{name}" for name in ("a/custom.yaml", "catalog.json")]
    assert (root / "README").read_text() == "prose: [\n"
    assert (root / "a/custom.yaml").read_text() == "---\nschema: example\nvalue: 1\n"


def test_check_writes_nothing(rukpakctl: CommandLine, file: Path) -> None:
    ran = rukpakctl("catalog", "fmt", "--check", file)
    assert (ran.status, ran.out) == (1, f"{file} is not formatted\n")
    assert file.read_bytes() == UNFORMATTED
    file.write_bytes(FORMATTED)
    ran = rukpakctl("catalog", "fmt", "--check", file)
    assert (ran.status, ran.out) == (0, "")


def test_unknown_fields_and_custom_blobs_are_kept(rukpakctl: CommandLine, tmp_path: Path) -> None:
    blobs = [
        {"schema": "example.custom", "b": [1.5, None, {"d": 1, "c": True}], "a": {}},
        package(extra={"y": 1, "x": 2}),
        channel("a", {"zeta": 1, "name": "p.v1.0.0"}),
        bundle("v1", extra=1),
    ]
    for name, data in (("c.json", stream(blobs)), ("c.yaml", "".join(dump_all(blobs)).encode())):
        file = tmp_path / name
        file.write_bytes(data)
        assert rukpakctl("catalog", "fmt", file).status == 0
        assert list(yaml.documents(file.read_bytes())) == [blobs[1], blobs[2], blobs[3], blobs[0]]
        assert rukpakctl("catalog", "fmt", "--check", file).status == 0


def test_file_with_comments_is_left_alone_until_they_may_be_lost(rukpakctl: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    text = "# first\nvalue: '# no comment'\nschema: x # second\n"
    file.write_text(text)
    for arguments in ((), ("--check",)):
        ran = rukpakctl("catalog", "fmt", *arguments, file)
        assert (ran.status, ran.out) == (0, "")
        assert ran.err == (
            f"Warning: {file}: left as it is: formatting would lose its comments (lines 1, 3); "
            "--drop-comments formats it without them\n"
        )
        assert file.read_text() == text
    assert rukpakctl("catalog", "fmt", "--drop-comments", file).status == 0
    assert file.read_text() == '---\nschema: x\nvalue: "# no comment"\n'


def test_formatted_file_may_have_comments(rukpakctl: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("---\nschema: x\n# at the end\n")
    ran = rukpakctl("catalog", "fmt", file)
    assert (ran.status, "line 3" in ran.err) == (0, True)


def test_anchors_and_merge_keys_are_written_out(rukpakctl: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("schema: x\na: &a {k: 1, m: 2}\nb: *a\nc:\n  <<: *a\n  m: 3\n")
    assert rukpakctl("catalog", "fmt", file).status == 0
    text = file.read_text()
    assert "&" not in text
    assert list(yaml.documents(text.encode())) == [
        {"schema": "x", "a": {"k": 1, "m": 2}, "b": {"k": 1, "m": 2}, "c": {"k": 1, "m": 3}}
    ]


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        ("a: [1\n", ":2:1: cannot be parsed as YAML", "Close the bracket"),
        ('{"schema": "x",\n "a": [', ":3:1: cannot be parsed as YAML", ""),
        ("value: 1\n", ": document 1: the document has no schema", ""),
        ("schema: x\nname: true\n", ": document 1: field 'name' must be a string, got bool", ""),
    ],
)
def test_file_that_cannot_be_read_is_not_touched(
    rukpakctl: CommandLine, write_catalog: WriteCatalog, text: str, told: str, hint: str
) -> None:
    root = write_catalog(VALID)
    broken = root / "a.yaml"
    broken.write_text(text)
    ran = rukpakctl("catalog", "fmt", root)
    assert ran.status == 3
    assert f"Error: {broken}{told}" in ran.err
    assert hint in ran.err
    assert broken.read_text() == text
    assert ran.out == f"formatted {root}/catalog.json\n"  # the others are


def test_file_without_permission_does_not_stop_the_others(
    rukpakctl: CommandLine, write_catalog: WriteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_catalog(VALID)
    (root / "a.yaml").write_text("schema: x\n")
    real_open = os.open

    def refuse(path: Path, *arguments: Any, **named: Any) -> int:
        if str(path).endswith("a.yaml"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real_open(path, *arguments, **named)

    monkeypatch.setattr(os, "open", refuse)
    ran = rukpakctl("catalog", "fmt", root)
    assert (ran.status, ran.out) == (3, f"formatted {root}/catalog.json\n")
    assert ran.err == f"Error: {root}/a.yaml: permission denied\n"


def test_links_out_of_the_catalog_are_errors_and_are_not_followed(
    rukpakctl: CommandLine, write_catalog: WriteCatalog, file: Path
) -> None:
    root = write_catalog(VALID)
    (root / "outside").symlink_to(file)
    ran = rukpakctl("catalog", "fmt", root)
    assert ran.status == 3
    assert f"{root}/outside: is a link out of the catalog" in ran.err
    assert file.read_bytes() == UNFORMATTED


def test_missing_path_is_told_before_anything_is_formatted(rukpakctl: CommandLine, file: Path) -> None:
    ran = rukpakctl("catalog", "fmt", file, file.parent / "missing")
    assert (ran.status, ran.out) == (3, "")
    assert "missing: there is no such file or directory" in ran.err
    assert file.read_bytes() == UNFORMATTED


def test_permissions_of_the_file_are_kept(rukpakctl: CommandLine, file: Path) -> None:
    file.chmod(0o640)
    rukpakctl("catalog", "fmt", file)
    assert file.read_bytes() == FORMATTED
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_link_stays_a_link_to_the_formatted_file(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    root = write_catalog(VALID)
    (root / "link").symlink_to("catalog.json")
    ran = rukpakctl("catalog", "fmt", root)
    assert ran.out == f"formatted {root}/catalog.json\n"
    assert (root / "link").is_symlink()
    assert (root / "catalog.json").read_bytes() == FORMATTED
    named = root.parent / "named.json"
    named.symlink_to("c/catalog.json")
    (root / "catalog.json").write_bytes(UNFORMATTED)
    assert rukpakctl("catalog", "fmt", named).status == 0
    assert named.is_symlink()
    assert (root / "catalog.json").read_bytes() == FORMATTED


def test_file_is_whole_when_its_disk_is_full(
    rukpakctl: CommandLine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fdopen

    def full(descriptor: int, mode: str) -> Any:
        if mode != "wb":
            return real(descriptor, mode)
        os.close(descriptor)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rukpak_py.cli.packaging.layouts.os.fdopen", full)
    ran = rukpakctl("catalog", "fmt", file)
    assert (ran.status, ran.out, ran.err) == (3, "", f"Error: {file}: No space left on device\n")
    assert file.read_bytes() == UNFORMATTED
    assert list(file.parent.glob(".*")) == []


def test_hostile_file_name_reaches_no_terminal(rukpakctl: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J.json").write_bytes(UNFORMATTED)
    (tmp_path / "b\u202e.json").write_bytes(b"{")
    ran = rukpakctl("catalog", "fmt", tmp_path)
    assert r"a\u001b[2J.json" in ran.out
    assert r"b\u202e.json" in ran.err
    assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)


SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), inner),
    max_leaves=8,
)


@st.composite
def catalogs(draw: st.DrawFn) -> list[Json]:
    names = draw(st.lists(st.sampled_from(["v1", "v2", "v3"]), min_size=1, max_size=3, unique=True))
    extra: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.sampled_from(["zeta", "eta"]), VALUES, max_size=1)
    blobs = [
        package(description=draw(st.text(max_size=12)), **draw(extra)),
        channel("a", *names, **draw(extra)),
        *(bundle(name, {"type": "t", "value": draw(VALUES)}, **draw(extra)) for name in names),
        {"schema": "example", "value": draw(VALUES)},
        {"schema": "other", "package": "p", "value": draw(VALUES)},
    ]
    return draw(st.permutations(blobs))


def by_text(blobs: list[Any]) -> list[str]:
    return sorted(json.dumps(blob, sort_keys=True) for blob in blobs)


@settings(max_examples=60, deadline=None)
@given(blobs=catalogs(), is_json=st.booleans())
def test_formatting_changes_no_value_and_is_idempotent(blobs: list[Json], is_json: bool) -> None:  # noqa: FBT001 - drawn
    data = stream(blobs) if is_json else "".join(dump_all(blobs)).encode()
    text = formatted(data).text
    assert by_text(list(yaml.documents(text))) == by_text(list(yaml.documents(data)))
    assert formatted(text).text == text
    assert not any(finding.is_error for finding in read_file("c", text).findings)


@settings(max_examples=10, deadline=None)
@given(blobs=catalogs())
def test_formatted_catalog_has_no_differences(blobs: list[Json]) -> None:
    from rukpak_py.catalog.differences import diff  # noqa: PLC0415 - of this property alone

    data = stream(blobs)
    assert diff(read_file("a", data).catalog, read_file("b", formatted(data).text).catalog) == ()


def test_temporary_files_are_made_beside_the_file(
    rukpakctl: CommandLine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    real = tempfile.mkstemp

    def noting(**named: Any) -> tuple[int, str]:
        made.append(Path(named["dir"]))
        return real(**named)

    monkeypatch.setattr(tempfile, "mkstemp", noting)
    rukpakctl("catalog", "fmt", file)
    assert made == [file.parent]
