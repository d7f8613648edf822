"""The rules for registry+v1 bundles: one file per family, one function per rule; `families` lists them.

Here is what rendering asks for, which does not pay for importing all the others.
"""

from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.registry_v1.rules import collisions, renderable, shipped, unsupported
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Locator, judge


def demand_renderable(request: InstallRequest, locator: Locator) -> None:
    """InvalidBundleError with all that forbids rendering; in parity, in the reference renderer's words alone."""
    if request.bundle.parity:
        findings = list(judge((renderable.FAMILY,), request.bundle, locator))
        text = "\n".join(finding.message for finding in findings)
    else:
        collided = judge((collisions.FAMILY,), request.bundle, locator)
        findings = [
            *judge((unsupported.FAMILY,), request, locator),
            *judge((renderable.FAMILY, shipped.INTEGERS), request.bundle, locator),
            *(finding for finding in collided if finding.is_error),
        ]
        text = None
    if findings:
        raise InvalidBundleError(findings, text=text)
