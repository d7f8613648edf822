"""The rules for registry+v1 bundles: one file per family, one function per rule.

A family judges a Bundle (what was read), a Reading (the files too, also when there is no bundle), or an InstallRequest.
A new family is added to the tuple of its subject; a new rule is one function in the family's file. What is asked for
in a profile only has a tuple of its own.
"""

from collections.abc import Iterator

from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.formats.registry_v1.bundle import Bundle
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules import accounts, collisions, own, refusals, renderable
from rukpak_py.formats.registry_v1.rules.refusals import InstallRequest
from rukpak_py.formats.rules import Family, Locator, judge

BUNDLE_FAMILIES: tuple[Family[Bundle], ...] = (renderable.FAMILY, own.FAMILY, accounts.FAMILY, collisions.FAMILY)
READING_FAMILIES: tuple[Family[Reading], ...] = (own.READING_FAMILY,)
REQUEST_FAMILIES: tuple[Family[InstallRequest], ...] = (refusals.FAMILY,)

# Asked for by the profile `operatorhub` only.
HUB_FAMILIES: tuple[Family[Bundle], ...] = ()
# Asked for by the profile `olmv1` only.
OLM_V1_FAMILIES: tuple[Family[InstallRequest], ...] = (refusals.OLM_V1_FAMILY,)


def demand_renderable(request: InstallRequest, locator: Locator) -> None:
    """InvalidBundleError with all that forbids rendering; in parity, in the reference renderer's words alone."""
    if request.bundle.parity:
        findings = list(judge((renderable.FAMILY,), request.bundle, locator))
        text = "\n".join(finding.message for finding in findings)
    else:
        findings, text = list(_refused(request, locator)), None
    if findings:
        raise InvalidBundleError(findings, text=text)


def _refused(request: InstallRequest, locator: Locator) -> Iterator[Finding]:
    yield from judge(REQUEST_FAMILIES, request, locator)
    yield from judge((renderable.FAMILY,), request.bundle, locator)
    found = judge((collisions.FAMILY,), request.bundle, locator)
    yield from (finding for finding in found if finding.is_error)
