"""`make sbom`: what the operator's image is made of, as build/rukpak.cdx.json in the form of CycloneDX 1.6.

Everything is read from the archive of the image: the distributions of Python, the Debian packages of which a file is
left, and the Go modules of the programs that are built from them. Two runs over one image give the same bytes. It is an
error when a program or a library of the image belongs to no component.
"""

from __future__ import annotations

import email.parser
import hashlib
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
CREATED = "org.opencontainers.image.created"
LONGEST_LICENCE = 200  # some distributions have the whole text in this field
GO_PROGRAMS = ("usr/local/bin/helm",)
Component = dict[str, Any]


def document(content: ImageArchive, name: str) -> dict[str, Any]:
    if unknown := unowned(content):
        raise SystemExit(f"no component has {', '.join(unknown[:10])}")
    components = sorted((*python_distributions(content), *debian_packages(content), *go_modules(content)), key=_order)
    digest = hashlib.sha256(json.dumps(content.config, sort_keys=True).encode()).hexdigest()
    path, _, version = name.rpartition(":")
    subject = {
        "type": "container",
        "bom-ref": "image",
        "name": path.rpartition("/")[2],
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest + json.dumps(components))}",
        "version": 1,
        "metadata": {"timestamp": content.config["config"]["Labels"][CREATED], "component": subject},
        "components": components,
        "dependencies": [{"ref": "image", "dependsOn": [one["bom-ref"] for one in components]}],
    }


def python_distributions(content: ImageArchive) -> Iterator[Component]:
    for path in sorted(content.members):
        if path.endswith(".dist-info/METADATA"):
            found = email.parser.BytesHeaderParser().parsebytes(content.read(path))
            name, version = found["Name"], found["Version"]
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


def unowned(content: ImageArchive) -> list[str]:
    """Programs and libraries of which no component knows."""
    known = {*_recorded(content), *_of_debian(content), *GO_PROGRAMS}
    found = []
    for path, member in content.members.items():
        if member.isfile() and path not in known and content.read(path)[:4] == ELF:
            found.append(path)
    return sorted(found)


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
