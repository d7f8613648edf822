"""Rule for examples held against the schemas of the bundle's own CRDs.

An unknown field is told: an API server drops it without a word, and examples are made to be copied.
"""

from collections.abc import Iterator

from rukpak_py.core.findings import Severity
from rukpak_py.formats.crds.custom_objects import misfit, schemas_of
from rukpak_py.formats.crds.values import Unknown
from rukpak_py.formats.json_fields import text
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.rules.examples import example_objects
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[RegistryBundle] = Family(title="Examples of the bundle's own CRDs", origin="rukpak-py")


@FAMILY.rule(
    "RV1-980",
    severity=Severity.WARNING,
    title="An example fits the schema of its CRD",
    hint="Correct the example, or the schema in the CRD: as they are, the API server refuses or changes the example.",
)
def examples_fit(bundle: RegistryBundle) -> Iterator[Problem]:
    schemas = schemas_of(definition.document for definition in bundle.definitions)
    for place, example in example_objects(bundle.csv.document):
        if wrong := misfit(example, schemas, unknown=Unknown.DROPPED):
            kind, api_version, name = (
                text(example, "kind"),
                text(example, "apiVersion"),
                text(example, "metadata", "name"),
            )
            yield Problem(message=f"the example of {kind} ({api_version}) {name}: {wrong}", place=place)
