"""Our own kinds, as the API server serves them."""

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES

__all__ = ["BUNDLES", "BUNDLE_DEPLOYMENTS"]
