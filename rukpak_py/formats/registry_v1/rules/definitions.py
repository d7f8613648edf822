"""Rules for the CRDs of an OLM bundle: those of an API server, and those that `opm` has of it.

As for `opm`, the first document of each file is judged. CRDs of v1beta1, which no supported Kubernetes takes, are
judged by that alone: rewriting them changes everything else.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from rukpak_py.core.findings import Profile
from rukpak_py.formats.crds import definitions, parts
from rukpak_py.formats.crds.written import API_VERSION, DEFINITION, WrittenDefinition
from rukpak_py.formats.documents import Document
from rukpak_py.formats.registry_v1.bundle import Webhook, WebhookType
from rukpak_py.formats.registry_v1.kinds import OLD_DEFINITIONS
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import name_of, of_kind
from rukpak_py.formats.rules import Check, Family, Problem

FAMILY: Family[Reading] = Family(title=definitions.FAMILY.title, origin=definitions.FAMILY.origin)
PARTS: Family[Reading] = Family(title=parts.FAMILY.title, origin=parts.FAMILY.origin)

# Rules of v1 that `opm` has for CRDs of v1beta1, too.
_SAME_IN_V1BETA1: Final = frozenset({f"RV1-{number}" for number in range(302, 309)})


@FAMILY.rule(
    "RV1-301",
    title="The apiVersion of a CRD is known",
    hint=f"Write `apiVersion: {API_VERSION}`.",
)
def the_api_version_is_known(reading: Reading) -> Iterator[Problem]:
    for document in of_kind(reading, DEFINITION):
        if document.api_version not in {API_VERSION, OLD_DEFINITIONS}:
            found = f"the unknown apiVersion '{document.api_version}'" if document.api_version else "no apiVersion"
            yield Problem(message=f"CRD '{name_of(document)}' has {found}", place=document.place("apiVersion"))


@FAMILY.rule(
    "RV1-910",
    title="A CRD is of apiextensions.k8s.io/v1, not of v1beta1",
    hint=f"Rewrite it for {API_VERSION}: validation, subresources and additionalPrinterColumns move into each version, "
    "JSONPath becomes jsonPath, and every version needs a schema.",
    origin="rukpak-py; Kubernetes, by way of operator-framework/api",
)
def definitions_are_of_v1(reading: Reading) -> Iterator[Problem]:
    """Judge all CRDs, where there is a bundle."""
    bundle = reading.bundle
    read = [definition.document for definition in bundle.definitions] if bundle is not None else []
    for document in read or of_kind(reading, DEFINITION):
        if document.api_version == OLD_DEFINITIONS:
            message = f"CRD '{name_of(document)}' is of {OLD_DEFINITIONS}, which Kubernetes 1.22 removed"
            only_in = Profile.DEFAULT if _is_accepted_by_opm(document) else None
            yield Problem(message=message, place=document.place("apiVersion"), error_only_in=only_in)


def _is_accepted_by_opm(document: Document) -> bool:
    """Whether `opm` takes it: it reads a file's first document. v1beta1 preserves unknown fields unless told not to."""
    written = WrittenDefinition.of(document)
    prunes = written.spec.get("preserveUnknownFields") is False
    judging = [rule.check for rule in definitions.FAMILY.rules if rule.id in _SAME_IN_V1BETA1]
    return bool(document.index) or (prunes and not any(list(check(written)) for check in judging))


def _each_definition(reading: Reading, check: Check[WrittenDefinition]) -> Iterator[Problem]:
    converted = {name for webhook in _conversions(reading) for name in webhook.conversion_crds}
    for document in of_kind(reading, DEFINITION):
        if document.api_version == API_VERSION:
            is_replaced = name_of(document) in converted
            for problem in check(WrittenDefinition.of(document)):
                yield _of_conversion(problem) if is_replaced else problem


def _conversions(reading: Reading) -> Iterable[Webhook]:
    return reading.bundle.csv.webhooks_of(WebhookType.CONVERSION) if reading.bundle is not None else ()


def _of_conversion(problem: Problem) -> Problem:
    """Where the CSV has a conversion webhook, it takes the place of what the CRD says of its conversion."""
    is_about = problem.place is not None and problem.place.path[:2] == ("spec", "conversion")
    return replace(problem, error_only_in=Profile.OPM) if is_about else problem


for _family, _of_one in ((FAMILY, definitions.FAMILY), (PARTS, parts.FAMILY)):
    for _rule in _of_one.rules:
        _family.rule(_rule.id, title=_rule.title, hint=_rule.hint)(partial(_each_definition, check=_rule.check))
