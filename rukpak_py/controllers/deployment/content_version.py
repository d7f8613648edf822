"""Which version of which content is installed.

The content says it: a chart, or the ClusterServiceVersion of an OLM bundle. What an earlier process has rendered is as
the status says it. Plain content says nothing, so its source does: the tag of its image, its git tag, its commit.
"""

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import InstalledContent
from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.controllers.deployment.attempt import Attempt

VERSION_CHARACTERS, NAME_CHARACTERS = 63, 253


def version_of(attempt: Attempt) -> str:
    """Empty: it has none, or it was installed by a release that did not record it."""
    content = content_of(attempt)
    if content is not None:
        return content.version
    return source_version(attempt.bundle) if attempt.classes.bundle == PLAIN_CLASS else ""


def content_of(attempt: Attempt) -> InstalledContent | None:
    """Cut to what a label or the name of an object may have: the content may say anything."""
    described = attempt.facts.description if attempt.facts is not None else None
    if described is not None:
        return InstalledContent(
            name=described.name[:NAME_CHARACTERS],
            version=described.version[:VERSION_CHARACTERS],
            app_version=described.app_version[:VERSION_CHARACTERS],
            package=described.package[:NAME_CHARACTERS],
        )
    status = attempt.deployment.status
    return status.content if status.digest == attempt.bundle.status.digest else None


def source_version(bundle: Bundle) -> str:
    return bundle.spec.source.version(bundle.status.resolved_source)[:VERSION_CHARACTERS]
