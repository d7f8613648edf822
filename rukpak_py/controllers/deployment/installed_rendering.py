"""Which entry of the history an attempt is about, as far as a rendering depends on it."""

from rukpak_py.api.bundle_deployment import Installation
from rukpak_py.api.install_options import identities, records_config
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.formats.format import ChartRenderer


def is_rendering_of(entry: Installation, attempt: Attempt) -> bool:
    """Whether content and options are those of an entry of the history, as far as a rendering depends on them."""
    options = attempt.options
    return (
        entry.options is not None
        and entry.digest == attempt.bundle.status.digest
        and entry.options.install_namespace == options.install_namespace
        and records_config(entry.options, options.config)
        and identities(entry.options.values_from) == identities(options.values_from)
    )


def installed_entry(attempt: Attempt) -> Installation | None:
    """Of what is installed. None: the attempt is about something else, as any other template is."""
    entry = attempt.installed.entry if attempt.installed is not None else None
    if entry is None or entry.bundle != attempt.bundle.metadata.name or not is_rendering_of(entry, attempt):
        return None
    return entry


def is_of_former_release(attempt: Attempt) -> bool:
    """Whether it is what a release of the operator has installed that knew neither the cluster nor settings."""
    entry = installed_entry(attempt)
    return entry is not None and entry.renderer == ChartRenderer.OFFLINE


def installed_rendering(attempt: Attempt) -> str:
    """The digest of what is installed; empty when the attempt is about something else."""
    entry = installed_entry(attempt)
    return entry.rendering_digest if entry is not None else ""
