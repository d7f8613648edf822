"""What `conclude` and `record` need to know of a deployment beside its status."""

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.result.conclusion import KeyFacts


def key_facts(deployment: BundleDeployment, *, bundle: str = "", turn: Turn | None = None) -> KeyFacts:
    """`bundle`: name of the Bundle of the template. `turn`: of the queue."""
    return KeyFacts(
        generation=deployment.metadata.generation,
        bundle=bundle,
        is_deleted=deployment.metadata.is_deleted,
        asked=deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, ""),
        turn=turn or Turn(),
    )
