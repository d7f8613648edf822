"""Our own kinds, as the API server serves them."""

from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_DEPLOYMENT_PLURAL,
    BUNDLE_KIND,
    BUNDLE_PLURAL,
    GROUP,
    VERSION,
)
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import Resource

BUNDLES = Resource(gvk=GroupVersionKind(GROUP, VERSION, BUNDLE_KIND), plural=BUNDLE_PLURAL, namespaced=False)
BUNDLE_DEPLOYMENTS = Resource(
    gvk=GroupVersionKind(GROUP, VERSION, BUNDLE_DEPLOYMENT_KIND), plural=BUNDLE_DEPLOYMENT_PLURAL, namespaced=False
)
