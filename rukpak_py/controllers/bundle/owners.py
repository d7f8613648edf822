"""The BundleDeployment of a Bundle, as the caches show it, and what that one has installed by its name."""

from dataclasses import dataclass

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, Installation
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.installed import installed_as
from rukpak_py.api.metadata import OwnerReference, is_deployment
from rukpak_py.api.names import CONTENT_DIGEST_ANNOTATION
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.api.template_hash import bundle_name, specs_equal, template_hash_of
from rukpak_py.controllers.cache import Cache
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


@dataclass(frozen=True, kw_only=True)
class FormerContent:
    """`deployment`: the uid of the one that had it. `is_named`: no other content is accepted.

    `is_of_source`: the history says that it came from this very source; else a record has to.
    """

    digest: str
    deployment: str
    is_named: bool = False
    is_of_source: bool = True


class BundleOwners:
    def __init__(self, client: Client, deployments: Cache[BundleDeployment]) -> None:
        self._client = client
        self._deployments = deployments

    def class_of(self, bundle: Bundle) -> str:
        """Class of the deployment that controls the Bundle; empty: no known one does."""
        deployment = self._of(bundle)
        return deployment.spec.provisioner_class if deployment is not None else ""

    def uid_of(self, bundle: Bundle) -> str:
        """Uid of the deployment whose template the Bundle is of: an owner reference alone can be written by others."""
        deployment = self._of(bundle)
        is_of_it = deployment is not None and specs_equal(bundle.spec, deployment.spec.template.spec)
        return deployment.metadata.uid if deployment is not None and is_of_it else ""

    async def installed_as(self, bundle: Bundle) -> Installation | None:
        """Installation under the Bundle's name that the deployment that controls the Bundle records."""
        deployment = await self.deployment_of(bundle)
        return installed_as(deployment.status, bundle.metadata.name) if deployment is not None else None

    async def formerly(self, bundle: Bundle) -> FormerContent | None:
        """Content that the deployment of the Bundle had from this very source, or that its template names by digest.

        None: any content is accepted, and nothing tells which one it is. Annotations of the Bundle itself do not count:
        others may write them.
        """
        deployment = await self.deployment_of(bundle)
        template = _template_of(bundle, deployment) if deployment is not None else None
        if deployment is None or template is None:
            return None
        found = [
            entry.digest
            for entry in deployment.status.history
            if entry.template is not None and specs_equal(entry.template.spec, bundle.spec)
        ]
        named = template.metadata.annotations.get(CONTENT_DIGEST_ANNOTATION, "")
        digest = named or (next(iter(found), "") if bundle.spec.source.is_pinned else "")
        if not digest:
            return None
        uid = deployment.metadata.uid
        return FormerContent(digest=digest, deployment=uid, is_named=bool(named), is_of_source=digest in found)

    async def deployment_of(self, bundle: Bundle) -> BundleDeployment | None:
        """The deployment that controls the Bundle.

        One that no cache has is read: after a restart the Bundle's event may come first.
        """
        controller = bundle.metadata.controller
        if controller is None or not is_deployment(controller):
            return None
        return self._of(bundle) or await self._read(controller)

    async def _read(self, controller: OwnerReference) -> BundleDeployment | None:
        try:
            found = read_bundle_deployment(await self._client.get(BUNDLE_DEPLOYMENTS, "", controller.name))
        except NotFoundError:
            return None
        return found if found.metadata.uid == controller.uid else None

    def _of(self, bundle: Bundle) -> BundleDeployment | None:
        controller = bundle.metadata.controller
        name = self._deployments.name_of(controller.uid) if controller is not None else None
        return self._deployments.get(name) if name is not None else None


def _template_of(bundle: Bundle, deployment: BundleDeployment) -> BundleTemplate | None:
    """Template that the Bundle was made of, by its name and its spec: an owner reference alone proves nothing."""
    wanted = bundle_name(deployment.metadata.name, template_hash_of(deployment)), deployment.spec.template
    known = (wanted, *((entry.bundle, entry.template) for entry in deployment.status.history))
    for name, template in known:
        if name == bundle.metadata.name and template is not None and specs_equal(template.spec, bundle.spec):
            return template
    return None
