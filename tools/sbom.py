"""`make sbom`: what the operator's image is made of, as build/rukpak.cdx.json in the form of CycloneDX 1.6.

Everything is read from the archive of the image: the interpreter and the distributions of Python, the Debian packages
of which a file is left, and the Go modules of the programs that are built from them. Two runs over one image give the
same bytes. It is an error when a program, a library or a module of the image belongs to no component; other files of
no component are properties of the document.
"""

from __future__ import annotations

import email.parser
import json
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tools import image
from tools.image_archive import ImageArchive, opened
from tools.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = image.ARCHIVE.with_suffix(".cdx.json")
STATUS = "var/lib/dpkg/status.d/"
SUMS = ".md5sums"
ELF = b"\x7fELF"
VENV = "opt/rukpak/pyvenv.cfg"  # names the interpreter, its version and its place, on every base
NO_COMPONENT = "rukpak-py:file-of-no-component"
# Made while the image is built, or the licences of components.
DERIVED = (STATUS, "usr/share/doc/")
CREATED = "org.opencontainers.image.created"
LONGEST_LICENCE = 200  # some distributions have the whole text in this field
GO_PROGRAMS = ("usr/local/bin/helm",)
Component = dict[str, Any]


def document(content: ImageArchive, name: str) -> dict[str, Any]:
    known = owned(content)
    if unknown := unowned(content, known):
        raise SystemExit(f"no component has {', '.join(unknown[:10])}")
    found = (interpreter(content), *python_distributions(content), *debian_packages(content), *go_modules(content))
    components = sorted(found, key=_order)
    path, _, version = name.rpartition(":")
    subject = {
        "type": "container",
        "bom-ref": "image",
        "name": path.rpartition("/")[2],
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": content.digest}],
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "properties": [{"name": NO_COMPONENT, "value": path} for path in unidentified(content, known)],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content.digest + json.dumps(components))}",
        "version": 1,
        "metadata": {"timestamp": content.config["config"]["Labels"][CREATED], "component": subject},
        "components": components,
        "dependencies": [{"ref": "image", "dependsOn": [one["bom-ref"] for one in components]}],
    }


def interpreter(content: ImageArchive) -> Component:
    """Python itself. A base that is not Debian's own has it in /usr/local, and no package has it."""
    version = _venv(content)["version"]
    return {
        **_component("python", version, f"pkg:generic/python@{version}", "PSF-2.0"),
        "type": "platform",
        "cpe": f"cpe:2.3:a:python:python:{version}:*:*:*:*:*:*:*",
    }


def _venv(content: ImageArchive) -> dict[str, str]:
    if VENV not in content.members:
        raise SystemExit(f"the image has no {VENV}, which names its Python: make it with `make image`")
    lines = content.read(VENV).decode().splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def python_distributions(content: ImageArchive) -> Iterator[Component]:
    for path in sorted(content.members):
        if path.endswith(".dist-info/METADATA"):
            found = email.parser.BytesHeaderParser().parsebytes(content.read(path))
            name, version = found["Name"], found["Version"]
            if not name or not version:
                raise SystemExit(f"{path} in the image has no name or no version: make the image again")
            purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{quote(version)}"
            yield _component(name, version, purl, found["License-Expression"] or found["License"])


def debian_packages(content: ImageArchive) -> Iterator[Component]:
    system = dict(line.split("=", 1) for line in content.read("etc/os-release").decode().splitlines() if "=" in line)
    distribution = f"{system['ID']}-{system.get('VERSION_ID', '')}".replace('"', "").rstrip("-")
    for path in sorted(content.members):
        if path.startswith(STATUS) and not path.endswith(SUMS) and content.members[path].isfile():
            found = email.parser.BytesHeaderParser().parsebytes(content.read(path))
            name, version, machine = found["Package"], found["Version"], found["Architecture"]
            purl = f"pkg:deb/{system['ID']}/{quote(name)}@{quote(version)}?arch={machine}&distro={distribution}"
            yield _component(name, version, purl, None)


def go_modules(content: ImageArchive) -> Iterator[Component]:
    """Modules of the programs that Go built; one component for a module and version."""
    found: dict[str, Component] = {}
    for path in GO_PROGRAMS:
        for module, version in _build_info(content.read(path)):
            purl = f"pkg:golang/{quote(module)}@{quote(version)}"
            found[purl] = _component(module, version, purl, None)
    yield from found.values()


def _build_info(program: bytes) -> Iterator[tuple[str, str]]:
    """Lines of `go version -m`: `mod`, `dep` and `=>` with a path and a version; the standard library first."""
    go = shutil.which("go")
    if go is None:
        raise SystemExit("go is needed to read what helm is made of, see https://go.dev/dl")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "program")
        place.write_bytes(program)
        text = subprocess.run([go, "version", "-m", str(place)], check=True, capture_output=True, text=True).stdout
    first, *lines = text.splitlines()
    yield "stdlib", first.split()[-1].removeprefix("go")
    rows = [line.split() for line in lines]
    for index, row in enumerate(rows):
        is_replaced = index + 1 < len(rows) and rows[index + 1][:1] == ["=>"]
        if row[:1] in (["mod"], ["dep"], ["=>"]) and len(row) >= 3 and not is_replaced and row[2] != "(devel)":
            yield row[1], row[2]


def owned(content: ImageArchive) -> frozenset[str]:
    """Files of which a component knows."""
    files = (*_recorded(content), *_of_debian(content), *_of_interpreter(content), *GO_PROGRAMS)
    return frozenset(files)


def unowned(content: ImageArchive, known: frozenset[str]) -> list[str]:
    """Programs, libraries and modules of which no component knows."""
    return [path for path in _others(content, known) if _runs(content, path)]


def unidentified(content: ImageArchive, known: frozenset[str]) -> list[str]:
    """The other files of which no component knows: configuration, certificates, accounts."""
    others = (path for path in _others(content, known) if not path.startswith(DERIVED) and not path.endswith(".pyc"))
    return [path for path in others if not _runs(content, path)]


def _others(content: ImageArchive, known: frozenset[str]) -> list[str]:
    return sorted(path for path, member in content.members.items() if member.isfile() and path not in known)


def _runs(content: ImageArchive, path: str) -> bool:
    is_program = bool(content.members[path].mode & 0o111)
    return is_program or path.endswith(".py") or content.read(path)[:4] == ELF


def _of_interpreter(content: ImageArchive) -> Iterator[str]:
    """The program, its library and the standard library."""
    found = _venv(content)
    name = "python" + ".".join(found["version"].split(".")[:2])
    programs = PurePosixPath(found["home"].removeprefix("/"))
    libraries = programs.parent / "lib"
    starts = (f"{programs / name}", f"{libraries / name}/", f"{libraries}/lib{name}.so", f"{libraries}/libpython3.so")
    yield from (path for path in content.members if path.startswith(starts))


def _recorded(content: ImageArchive) -> Iterator[str]:
    """Files of the distributions of Python, as their RECORDs name them."""
    for path in content.members:
        if path.endswith(".dist-info/RECORD"):
            root = PurePosixPath(path).parent.parent
            for line in content.read(path).decode().splitlines():
                yield os.path.normpath(root / line.split(",")[0].strip('"'))


def _of_debian(content: ImageArchive) -> Iterator[str]:
    for path in content.members:
        if path.startswith(STATUS) and path.endswith(SUMS):
            for line in content.read(path).decode().splitlines():
                yield line.partition("  ")[2]


def _component(name: str, version: str, purl: str, licence: str | None) -> Component:
    found: Component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if licence and len(licence) < LONGEST_LICENCE and "\n" not in licence:
        found["licenses"] = [{"license": {"name": licence}}]
    return found


def _order(component: Component) -> str:
    return str(component["purl"])


def main() -> None:
    archive = image.build(Steps())
    with opened(archive) as content:
        found = document(content, image.name())
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{TARGET.relative_to(image.ROOT)}: {len(found['components'])} components")


if __name__ == "__main__":
    main()
