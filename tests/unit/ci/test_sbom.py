"""Components of an image, from small archives in the form that an engine saves."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from tools import sbom
from tools.image_archive import opened

CONFIG = json.dumps({"architecture": "arm64", "config": {"Labels": {}}}).encode()
SITE = "opt/rukpak/lib/python3.11/site-packages"
# As in a public base, whose interpreter is of no Debian package.
PYTHON = {
    sbom.VENV: b"home = /usr/local/bin\nversion = 3.11.9\nexecutable = /usr/local/bin/python3.11\n",
    "usr/local/bin/python3.11": sbom.ELF,
    "usr/local/lib/libpython3.11.so.1.0": sbom.ELF,
    "usr/local/lib/python3.11/lib-dynload/_ssl.so": sbom.ELF,
    "usr/local/lib/python3.11/os.py": b"",
}
KOPF = {
    f"{SITE}/kopf-1.0.dist-info/METADATA": b"Metadata-Version: 2.4\nName: kopf\nVersion: 1.0\n",
    f"{SITE}/kopf-1.0.dist-info/RECORD": b'kopf/__init__.py,,\n../../../bin/kopf,,\n"kopf/_fast.so",,\n'
    b"kopf-1.0.dist-info/METADATA,,\nkopf-1.0.dist-info/RECORD,,\n",
    f"{SITE}/kopf/__init__.py": b"",
    f"{SITE}/kopf/_fast.so": sbom.ELF,
    "opt/rukpak/bin/kopf": b"#!/opt/rukpak/bin/python\n",
}
GIT = {f"{sbom.STATUS}git.md5sums": b"0  usr/bin/git\n", "usr/bin/git": sbom.ELF, "usr/local/bin/helm": sbom.ELF}


def archive(folder: Path, files: dict[str, bytes], programs: tuple[str, ...] = ()) -> Path:
    layer = tarred(files, programs)
    manifest = json.dumps([{"Config": "config.json", "Layers": ["layer.tar"]}]).encode()
    place = folder / "image.tar"
    place.write_bytes(tarred({"manifest.json": manifest, "config.json": CONFIG, "layer.tar": layer}))
    return place


def tarred(files: dict[str, bytes], programs: tuple[str, ...] = ()) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o755 if path in programs else 0o644
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def unowned(place: Path) -> list[str]:
    with opened(place) as content:
        return sbom.unowned(content, sbom.owned(content))


def test_interpreter_of_no_debian_package_is_a_component(tmp_path: Path) -> None:
    place = archive(tmp_path, PYTHON)
    with opened(place) as content:
        found = sbom.interpreter(content)
    assert (found["type"], found["version"], found["purl"]) == ("platform", "3.11.9", "pkg:generic/python@3.11.9")
    assert unowned(place) == []


def test_files_of_packages_and_distributions_are_owned(tmp_path: Path) -> None:
    assert unowned(archive(tmp_path, PYTHON | KOPF | GIT, ("opt/rukpak/bin/kopf",))) == []


@pytest.mark.parametrize(
    ("path", "content", "programs"),
    [
        ("usr/lib/libstray.so.1", sbom.ELF + b"\2", ()),
        ("usr/bin/stray", b"#!/bin/sh\n", ("usr/bin/stray",)),
        (f"{SITE}/stray.py", b"", ()),
        ("usr/local/bin/python3.12", sbom.ELF, ()),
    ],
    ids=["library", "script", "module", "another interpreter"],
)
def test_stray_program_is_of_no_component(tmp_path: Path, path: str, content: bytes, programs: tuple[str, ...]) -> None:
    assert unowned(archive(tmp_path, PYTHON | KOPF | GIT | {path: content}, programs)) == [path]


def test_other_files_of_no_component_are_told(tmp_path: Path) -> None:
    files = {"etc/passwd": b"", "usr/share/doc/git/copyright": b"", f"{SITE}/kopf/x.cpython-311.pyc": b""}
    with opened(archive(tmp_path, PYTHON | KOPF | files)) as content:
        assert sbom.unidentified(content, sbom.owned(content)) == ["etc/passwd", sbom.VENV]


def test_digest_is_that_of_the_configuration(tmp_path: Path) -> None:
    with opened(archive(tmp_path, PYTHON)) as content:
        assert content.digest == hashlib.sha256(CONFIG).hexdigest()


def test_image_without_an_interpreter_is_refused(tmp_path: Path) -> None:
    with opened(archive(tmp_path, KOPF)) as content, pytest.raises(SystemExit, match=r"no opt/rukpak/pyvenv\.cfg"):
        sbom.owned(content)


def test_distribution_without_a_version_is_refused(tmp_path: Path) -> None:
    broken = {f"{SITE}/kopf-1.0.dist-info/METADATA": b"Name: kopf\n"}
    with opened(archive(tmp_path, broken)) as content, pytest.raises(SystemExit, match="no name or no version"):
        list(sbom.python_distributions(content))


def test_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "image.tar"
    place.write_bytes(b"not an archive")
    with pytest.raises(tarfile.ReadError), opened(place):
        pass
