"""Rule for custom resources of the CRDs that the same bundle brings.

Server-side apply refuses a field that the schema does not declare, where others would drop it without a word.
"""

from collections.abc import Iterator

from rukpak_py.core.findings import Profile
from rukpak_py.formats.crds.custom_objects import misfit, schemas_of, served
from rukpak_py.formats.crds.values import Unknown
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Judged] = Family(title="Objects of the bundle's own CRDs", origin="Kubernetes")


@FAMILY.rule(
    "OBJ-020",
    title="An object fits the CRD of its kind in the same bundle",
    hint="Correct the object, or the CRD: the API server refuses the object.",
    error_only_in=Profile.DEFAULT,
)
def objects_fit_their_crds(judged: Judged) -> Iterator[Problem]:
    schemas = schemas_of(judged.crds)
    for one in judged.objects:
        manifest = one.document.manifest
        versions = served(manifest, schemas)
        if versions is None:
            continue
        if one.document.api_version not in versions:
            known = ", ".join(sorted(versions)) or "no version"
            message = f"{one.document.api_version} is not served by the CRD in the bundle, which serves {known}"
            yield one.origin.problem(message, "apiVersion")
        elif wrong := misfit(manifest, schemas, unknown=Unknown.REFUSED):
            yield one.origin.problem(f"{one.document.kind} {one.document.name}: {wrong}")
