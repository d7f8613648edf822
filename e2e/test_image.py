# ruff: noqa: S101 - pytest asserts
"""The operator's image as an archive: what it has, what it does not have, and how large it is; needs no cluster."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from rukpak_py import __version__
from tools import image
from tools.image_archive import ImageArchive, opened
from tools.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGEST = 200_000_000  # bytes; 180 today, of which helm has 62
NEEDED = (
    *("usr/bin/busybox", "usr/bin/git", "usr/bin/ssh", "usr/bin/env", "usr/bin/timeout", "usr/local/bin/helm"),
    *("opt/rukpak/bin/rukpak-operator", "opt/rukpak/bin/ls", "etc/ssl/certs/ca-certificates.crt", "etc/passwd"),
)
ABSENT = re.compile(r"(ba|da|z|k)?sh|perl.*|apt.*|dpkg.*|gpgv?|pip.*|su|mount|passwd")


@pytest.fixture(scope="module")
def archive() -> Path:
    return image.build(Steps())


@pytest.fixture(scope="module")
def content(archive: Path) -> Iterator[ImageArchive]:
    with opened(archive) as content:
        yield content


def test_the_image_is_small(archive: Path) -> None:
    assert archive.stat().st_size <= LARGEST


@pytest.mark.parametrize("path", NEEDED)
def test_the_image_has_programs_and_certificates(content: ImageArchive, path: str) -> None:
    assert path in content.members


def test_no_program_is_a_shell_or_a_package_manager(content: ImageArchive) -> None:
    programs = [path for path, one in content.members.items() if PurePosixPath(path).parent.name in {"bin", "sbin"}]
    assert [path for path in programs if ABSENT.fullmatch(PurePosixPath(path).name)] == []
    assert not [path for path in content.members if "perl" in path.split("/")]


def test_nothing_runs_with_the_rights_of_its_file(content: ImageArchive) -> None:
    assert [path for path, one in content.members.items() if one.isfile() and one.mode & 0o6000] == []


def test_only_the_owner_writes_files(content: ImageArchive) -> None:
    """All of the root file system belongs to root but the cache; /tmp is everybody's."""
    writable = {path for path, one in content.members.items() if not one.issym() and one.mode & 0o022}
    assert writable == {"tmp"}
    assert {path for path, one in content.members.items() if one.uid != 0} == {"var/cache/bundles"}


def test_links_lead_to_files_of_the_image(content: ImageArchive) -> None:
    broken = []
    for path, one in content.members.items():
        if one.issym() and not _leads_somewhere(content, PurePosixPath("/", path)):
            broken.append(f"{path} -> {one.linkname}")
    assert broken == []


def _leads_somewhere(content: ImageArchive, path: PurePosixPath, depth: int = 0) -> bool:
    """Follow the links of each part of the path."""
    place = PurePosixPath("/")
    for part in path.parts[1:]:
        place = place.parent if part == ".." else place / part
        found = content.members.get(str(place)[1:])
        if found is not None and found.issym() and depth < 10:
            target = place.parent / found.linkname
            rest = path.relative_to(place) if path.is_relative_to(place) else PurePosixPath()
            return _leads_somewhere(content, target / rest, depth + 1)
    return place == PurePosixPath("/") or str(place)[1:] in content.members


def test_the_operator_runs_as_a_user_that_has_a_name(content: ImageArchive) -> None:
    config = content.config["config"]
    assert (config["User"], config["Entrypoint"]) == ("1001:1001", ["rukpak-operator"])
    users = {line.split(":")[2] for line in content.read("etc/passwd").decode().splitlines()}
    assert "1001" in users


def test_labels_say_what_the_image_is(content: ImageArchive) -> None:
    labels = content.config["config"]["Labels"]
    found = {key.removeprefix("org.opencontainers.image."): value for key, value in labels.items()}
    assert found.keys() >= {"title", "description", "licenses", "version", "revision", "created"}
    assert (found["title"], found["version"], found["licenses"]) == ("rukpak-py", __version__, "Apache-2.0")
    assert all(found.values())


def test_debian_packages_are_told_to_scanners_with_their_licences(content: ImageArchive) -> None:
    described = {PurePosixPath(path).name for path in content.members if path.startswith("var/lib/dpkg/status.d/")}
    told = {name for name in described if not name.endswith(".md5sums")}
    assert {f"{name}.md5sums" for name in told} == described - told
    assert told >= {"git", "openssh-client", "busybox-static", "libc6", "ca-certificates"}
    documented = {path.split("/")[3] for path in content.members if path.startswith("usr/share/doc/")}
    assert told - documented == set()


def test_modules_are_compiled_once(content: ImageArchive) -> None:
    """The root file system is read-only: what is not compiled now would be at each start."""
    sources = [path for path in content.members if "rukpak_py/" in path and path.endswith(".py")]
    compiled = {path for path in content.members if path.endswith(".pyc")}
    assert sources
    stems = {(str(PurePosixPath(one).parent.parent), PurePosixPath(one).name.partition(".")[0]) for one in compiled}
    assert [path for path in sources if (str(PurePosixPath(path).parent), PurePosixPath(path).stem) not in stems] == []
