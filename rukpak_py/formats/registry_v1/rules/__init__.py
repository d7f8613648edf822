"""The rules for registry+v1 bundles: one file per family, one function per rule; `families` lists them.

Here is what rendering asks for, which does not pay for importing all the others.
"""

from collections.abc import Iterator

from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.formats.registry_v1.rules import collisions, renderable, shipped, unsupported
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Locator, judge


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
    yield from judge((unsupported.FAMILY,), request, locator)
    yield from judge((renderable.FAMILY, shipped.INTEGERS), request.bundle, locator)
    found = judge((collisions.FAMILY,), request.bundle, locator)
    yield from (finding for finding in found if finding.is_error)
