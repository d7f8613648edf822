"""Small catalogs for tests, as blobs; a package `p` with its bundles by default.

    sample("v1", "v2 replaces v1 skips v0")         one channel `a` with these entries, and their bundles
    blobs(package(), channel("a", "v1"), bundle("v1"))
    checked(blobs)                                  ids of the rules that refuse it, as a user gets them

`v1` is the bundle `p.v1.0.0`, `v1.2` is `p.v1.2.0`; a name with a dot at another place stays what it is.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES, problems_of_catalog
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.lint.rules import LINT_FAMILIES
from rukpak_py.catalog.model import Catalog
from rukpak_py.catalog.read_file import FileContent, read_file
from rukpak_py.core.findings import Finding
from rukpak_py.formats.rules import Locator

Json: TypeAlias = dict[str, Any]

IMAGE = "example.com/p-bundle:v1"
_SHORT = re.compile(r"v(\d+)(?:\.(\d+))?")


def full(name: str) -> str:
    match = _SHORT.fullmatch(name)
    return f"p.v{match[1]}.{match[2] or 0}.0" if match else name


def package(default: str | None = "a", **fields: Any) -> Json:
    return {"schema": "olm.package", "name": "p", **({} if default is None else {"defaultChannel": default}), **fields}


def entry(text: str, **fields: Any) -> Json:
    """`v3 replaces v2 skips v1,v0`."""
    words = text.split(" ")
    found: Json = {"name": full(words[0])}
    for key, value in zip(words[1::2], words[2::2], strict=True):
        found[key] = full(value) if key == "replaces" else [full(name) for name in value.split(",")]
    return found | fields


def channel(name: str, /, *entries: str | Json, **fields: Any) -> Json:
    listed = [entry(one) if isinstance(one, str) else one for one in entries]
    return {"schema": "olm.channel", "package": "p", "name": name, "entries": listed, **fields}


def package_property(version: str = "1.0.0", **fields: Any) -> Json:
    return {"type": "olm.package", "value": {"packageName": "p", "version": version, **fields}}


def bundle(name: str, /, *properties: Json, version: str | None = None, **fields: Any) -> Json:
    """Further properties follow that of the package; `properties=` takes the place of all."""
    named = full(name)
    found = named.partition(".v")[2] if version is None else version
    return {
        "schema": "olm.bundle",
        "package": "p",
        "name": named,
        "image": IMAGE,
        "properties": [package_property(found), *properties],
        **fields,
    }


def one_bundle(*properties: Json, **fields: Any) -> list[Json]:
    """A catalog of one bundle, which is valid unless the arguments make it something else."""
    made = bundle("v1", *properties, **fields)
    return [package(), channel("a", {"name": made["name"]}), made]


def sample(*entries: str | Json, absent: str = "") -> list[Json]:
    """A catalog of one channel; `absent`: entries without a bundle."""
    made = channel("a", *entries)
    names = dict.fromkeys(one["name"] for one in made["entries"])
    return [package(), made, *(bundle(name) for name in names if name != full(absent))]


def deprecations(*entries: tuple[str, str, str], **fields: Any) -> Json:
    """Entries: schema without `olm.`, name, message."""
    listed = [
        {"reference": {"schema": schema, **({"name": name} if name else {})}, "message": message}
        for schema, name, message in entries
    ]
    return {"schema": "olm.deprecations", "package": "p", "entries": listed, **fields}


def without(blob: Json, *keys: str) -> Json:
    return {key: value for key, value in blob.items() if key not in keys}


def stream(blobs: list[Json]) -> bytes:
    """As JSON of one line each: the number of a finding's line is that of its blob."""
    return "".join(f"{json.dumps(blob)}\n" for blob in blobs).encode()


def read_files(files: Mapping[str, bytes], *, is_linted: bool = False) -> list[FileContent]:
    return [
        read_file(file, data, is_slim=True, checks=Checks.LINT if is_linted else Checks.VALIDITY)
        for file, data in files.items()
    ]


def findings_of(
    files: Mapping[str, bytes], *, broken: frozenset[str] | None = frozenset(), is_linted: bool = False
) -> list[Finding]:
    contents = read_files(files, is_linted=is_linted)
    catalog = Catalog.joined(content.catalog for content in contents)
    locator = Locator(files)
    together = problems_of_catalog(
        WholeCatalog(catalog=catalog, broken=broken), LINT_FAMILIES if is_linted else CATALOG_FAMILIES
    )
    return [
        *(finding for content in contents for finding in content.findings),
        *(locator.finding(rule, problem) for rule, problem in together),
    ]


def findings(blobs: list[Json]) -> list[Finding]:
    return findings_of({"catalog.json": stream(blobs)})


def errors(blobs: list[Json]) -> list[Finding]:
    return [finding for finding in findings(blobs) if finding.is_error]


def refused_by(blobs: list[Json]) -> list[str]:
    """The rules without their prefix, sorted."""
    return sorted(finding.rule.removeprefix("FBC-") for finding in errors(blobs))


def warnings(blobs: list[Json]) -> list[Finding]:
    found = findings_of({"catalog.json": stream(blobs)}, is_linted=True)
    return [finding for finding in found if not finding.is_error]
