"""Our own kinds, as the API server serves them, and what to do when it does not."""

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES, Resource

__all__ = ["BUNDLES", "BUNDLE_DEPLOYMENTS", "BUNDLE_INSTANCES", "not_served"]


def not_served(resource: Resource) -> str:
    gvk = resource.gvk
    return f"the API server does not serve {gvk.kind} ({gvk.api_version}): install config/crds"
