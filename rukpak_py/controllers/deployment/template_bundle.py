"""The Bundle of a template: found by what it is, never by a label alone; created when it is missing.

It has the deployment as its controller (by uid) and a spec that equals the template's. One that a deployment of the
same name left behind, equal in all, becomes ours; a Bundle of another owner on the name is a named conflict. Bundles of
former templates that never became active go as soon as the new one exists, so failed edits cannot pile up. The Bundle
of what is installed is made again when a client deletes it, where the history records its template exactly.

An upload that lost its owner is not taken back by a deployment with an account: who could upload to a Bundle without an
owner need not have been allowed to impersonate that account. It is deleted, and made anew without content.

A refresh makes another Bundle of the same template: its time stands in the status before, and is part of the name.
"""

import logging
from collections.abc import Callable, Collection, Container, Mapping

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, Installation
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    TEMPLATE_HASH_LABEL,
    BundlePhase,
    ConditionType,
    Reason,
    SourceType,
    is_unknown_class,
)
from rukpak_py.api.reading import read_bundle, to_json
from rukpak_py.api.template_hash import bundle_name, specs_equal, template_hash_of
from rukpak_py.apply.marks import Owner
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.existence import Existence
from rukpak_py.controllers.result.bundle_details import BundleFails, BundleOfOtherClass, UnknownClass, WaitingForBundle
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import reason_of_request
from rukpak_py.controllers.result.progress import Fact
from rukpak_py.controllers.writes import object_meta
from rukpak_py.core.errors import ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.logs import LASTING
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import (
    AlreadyExistsError,
    ForbiddenError,
    InvalidError,
    KindNotServedError,
    NotFoundError,
    StaleError,
)
from rukpak_py.kube.resources import BUNDLES, not_served

LOG = logging.getLogger(__name__)
_REFUSALS = (ContentError, ConflictError, ForbiddenError, InvalidError)
TEMPLATE_UNKNOWN = (
    "it cannot be created again, because status.history does not have its exact template: restore the former "
    "spec.template, or correct the new one"
)


class Templates:
    def __init__(
        self,
        client: Client,
        bundles: Cache[Bundle],
        existence: Existence[BundleDeployment],
        *,
        has_account: Callable[[BundleDeployment], bool],
        on_new: Callable[[str], None],
    ) -> None:
        self._has_account = has_account
        self._client = client
        self._bundles = bundles
        self._existence = existence
        self._on_new = on_new  # its event will be no news, because the answer to our own create is in the cache

    async def bundle_of(self, deployment: BundleDeployment, state: DeploymentState) -> Bundle | None:
        """Found or created. None: the deployment is gone.

        A Bundle that was there and is not may have been collected: its deployment may be gone, unseen by us.
        """
        wanted = state.template_hash(deployment)
        name, found = bundle_name(deployment.metadata.name, wanted), self.find(deployment, wanted)
        if found is None:
            was_there = name in {state.bundle, deployment.status.active_bundle}
            if not await self._existence.still_exists(deployment, is_doubtful=was_there):
                return None
            found = await self._create(deployment, name, wanted)
        state.bundle = name
        return found

    def former(self, deployment: BundleDeployment, but: Bundle) -> list[Bundle]:
        """Other Bundles of the deployment whose content is known."""
        bundles = self._bundles.controlled_by(deployment.metadata.uid)
        return [one for one in bundles if one.metadata.uid != but.metadata.uid and one.status.digest]

    def find(self, deployment: BundleDeployment, wanted: str) -> Bundle | None:
        """The Bundle of the template with this hash."""
        for bundle in self._bundles.controlled_by(deployment.metadata.uid):
            if not bundle.metadata.is_deleted and _is_of(bundle, deployment, wanted):
                return bundle
        return None

    def active(self, deployment: BundleDeployment) -> Bundle | None:
        """The Bundle whose content is installed."""
        bundle = self._bundles.get(deployment.status.active_bundle)
        return bundle if bundle is not None and _is_controlled_by(bundle, deployment) else None

    def of_entry(self, deployment: BundleDeployment, entry: Installation) -> Bundle | None:
        """The Bundle of an entry of the history, with the content of then."""
        bundle = self._bundles.get(entry.bundle)
        if bundle is None or not _is_controlled_by(bundle, deployment):
            return None
        return bundle if bundle.status.digest == entry.digest else None

    async def restore_entry(self, deployment: BundleDeployment, entry: Installation) -> str:
        """Make its missing Bundle again, as the history records it. The answer: why that never helps; empty: it may.

        A request that fails refuses nothing, and neither does a source that does not answer.
        """
        former, known = _as_recorded(deployment, entry), self._bundles.get(entry.bundle)
        if former is None:
            return TEMPLATE_UNKNOWN
        if known is not None and _is_controlled_by(known, deployment):
            return _why_useless(known, entry)
        try:
            await self._restore(former, entry.bundle)
        except _REFUSALS as error:
            return str(error)
        except RukPakError as error:
            text = f"Bundle {entry.bundle} is not made again yet: {error}"
            LASTING.tell(LOG, logging.INFO, reason_of_request(error), text)
        return ""

    def shows_orphaning(self, deployment: BundleDeployment, state: DeploymentState) -> bool:
        """Whether the Bundle of what is installed, or of a first install, lost its owner: to a deletion that orphans.

        It is there after a restart, too, and where no object of the content has an owner reference.
        """
        wanted = bundle_name(deployment.metadata.name, state.template_hash(deployment))
        bundle = self._bundles.get(deployment.status.active_bundle or wanted)
        if bundle is None or bundle.metadata.labels.get(OWNER_NAME_LABEL) != deployment.metadata.name:
            return False
        return all(one.uid != deployment.metadata.uid for one in bundle.metadata.owner_references)

    async def restore_active(self, deployment: BundleDeployment) -> str:
        """Make the missing Bundle of what is installed again, as the history records it. The answer: why not."""
        name, as_installed = deployment.status.active_bundle, _as_installed(deployment)
        if as_installed is None:
            return TEMPLATE_UNKNOWN
        try:
            await self._restore(as_installed, name)
        except RukPakError as error:
            return str(error)
        return ""

    async def _restore(self, former: BundleDeployment, name: str) -> None:
        if await self._existence.still_exists(former, is_doubtful=True):
            await self._create(former, name, template_hash_of(former))

    async def _create(self, deployment: BundleDeployment, name: str, wanted: str) -> Bundle:
        try:
            created = await self._client.create(BUNDLES, "", _manifest(deployment, name, wanted))
            body = created.json or b""
        except AlreadyExistsError:
            body = await self._client.get(BUNDLES, "", name)
        except KindNotServedError as error:
            raise UnavailableError(not_served(BUNDLES)) from error
        bundle = read_bundle(body)
        if _is_orphan_of(bundle, deployment, wanted):
            is_upload = bundle.spec.source.type == SourceType.UPLOAD
            make_ours = self._make_anew if is_upload and self._has_account(deployment) else self._adopt
            bundle = await make_ours(bundle, deployment)
        if self._bundles.put(bundle):
            self._on_new(name)
        if not _is_controlled_by(bundle, deployment):
            raise ConflictError(
                f"Bundle {name} exists and does not belong to this BundleDeployment; "
                "delete that Bundle, or create it with another name"
            )
        if bundle.metadata.is_deleted:
            raise UnavailableError(f"Bundle {name} is being deleted; waiting until it is gone")
        if not _is_of(bundle, deployment, wanted):
            raise ConflictError(f"Bundle {name} exists with a spec that differs from spec.template; delete that Bundle")
        return bundle

    async def _adopt(self, bundle: Bundle, deployment: BundleDeployment) -> Bundle:
        owner = Owner.of(deployment)
        metadata = bundle.metadata
        body = {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "ownerReferences": [owner.reference],
        }
        answer = await self._client.patch(BUNDLES, "", metadata.name, canonical_json({"metadata": body}))
        return replace(bundle, metadata=object_meta(answer.metadata))

    async def _make_anew(self, bundle: Bundle, deployment: BundleDeployment) -> Bundle:
        name, wanted = bundle.metadata.name, bundle.metadata.labels[TEMPLATE_HASH_LABEL]
        await self._delete(bundle)
        try:
            created = await self._client.create(BUNDLES, "", _manifest(deployment, name, wanted))
        except AlreadyExistsError as error:
            raise UnavailableError(f"Bundle {name} is being deleted; waiting until it is gone") from error
        return read_bundle(created.json or b"")

    async def drop_never_installed(self, deployment: BundleDeployment, wanted: Bundle) -> None:
        """Delete the Bundles that were never installed. An installed one stays until its successor is healthy, so that
        the way back is short.
        """
        installed = installed_of(deployment.status)
        bundles = {installed.bundle, *(entry.bundle for entry in installed.history)} if installed is not None else set()
        await self._drop(deployment, {wanted.metadata.name} | bundles)

    async def drop_superseded(self, deployment: BundleDeployment, *kept: Bundle) -> None:
        await self._drop(deployment, {one.metadata.name for one in kept})

    async def _drop(self, deployment: BundleDeployment, kept: Container[str]) -> None:
        for bundle in self._bundles.controlled_by(deployment.metadata.uid):
            if bundle.metadata.name not in kept and not bundle.metadata.is_deleted:
                await self._delete(bundle)

    async def _delete(self, bundle: Bundle) -> None:
        try:
            left = await self._client.delete(BUNDLES, "", bundle.metadata.name, uid=bundle.metadata.uid)
        except (NotFoundError, StaleError):
            left = None  # gone, or another one by now
        if left is None:
            self._bundles.drop(bundle.metadata.name, bundle.metadata.uid)


def _is_controlled_by(bundle: Bundle, deployment: BundleDeployment) -> bool:
    controller = bundle.metadata.controller
    return controller is not None and controller.uid == deployment.metadata.uid


def _why_useless(bundle: Bundle, entry: Installation) -> str:
    """Why the Bundle of the entry will not have the content of then. Empty: it may, when it is made or unpacked."""
    name = bundle.metadata.name
    if bundle.metadata.is_deleted:
        return ""
    if bundle.status.phase == BundlePhase.FAILING:
        unpacked = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
        if unpack_cause(bundle) is Cause.UNPACK_UNAVAILABLE or unpacked is None:
            return ""
        return f"Bundle {name} cannot be unpacked: {unpacked.message}"
    if bundle.status.digest and bundle.status.digest != entry.digest:
        return f"Bundle {name} has other content than revision {entry.revision}; delete that Bundle"
    return ""


def _as_installed(deployment: BundleDeployment) -> BundleDeployment | None:
    """Deployment with the template of the installed content. None: the record is not exactly that template."""
    installed = installed_of(deployment.status)
    entry = installed.entry if installed is not None else None
    is_its = installed is not None and entry is not None and entry.bundle == installed.bundle
    return _as_recorded(deployment, entry) if entry is not None and is_its else None


def _as_recorded(deployment: BundleDeployment, entry: Installation) -> BundleDeployment | None:
    if entry.template is None:
        return None
    former = replace(deployment, spec=replace(deployment.spec, template=entry.template))
    return former if bundle_name(deployment.metadata.name, template_hash_of(former)) == entry.bundle else None


def _is_orphan_of(bundle: Bundle, deployment: BundleDeployment, wanted: str) -> bool:
    """Left by a deployment of this name (`--cascade=orphan`, or a backup), and exactly what would be created."""
    metadata = bundle.metadata
    return (
        not metadata.owner_references
        and not metadata.is_deleted
        and metadata.labels.get(OWNER_KIND_LABEL) == BUNDLE_DEPLOYMENT_KIND
        and metadata.labels.get(OWNER_NAME_LABEL) == deployment.metadata.name
        and _is_of(bundle, deployment, wanted)
    )


def _is_of(bundle: Bundle, deployment: BundleDeployment, wanted: str) -> bool:
    return bundle.metadata.labels.get(TEMPLATE_HASH_LABEL) == wanted and specs_equal(
        bundle.spec, deployment.spec.template.spec
    )


def _manifest(deployment: BundleDeployment, name: str, wanted: str) -> bytes:
    template = deployment.spec.template
    owner = Owner.of(deployment)
    labels = {
        **template.metadata.labels,
        OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND,
        OWNER_NAME_LABEL: owner.name,
        TEMPLATE_HASH_LABEL: wanted,
    }
    return canonical_json(
        {
            "apiVersion": API_VERSION,
            "kind": BUNDLE_KIND,
            "metadata": {
                "name": name,
                "labels": labels,
                "annotations": template.metadata.annotations,
                "ownerReferences": [owner.reference],
            },
            "spec": to_json(template.spec),
        }
    )


_CAUSES: Mapping[str, Cause] = {
    Reason.CONTENT_ERROR: Cause.UNPACK_CONTENT,
    Reason.ACCESS_DENIED: Cause.UNPACK_DENIED,
    Reason.CONFLICT: Cause.UNPACK_CONFLICT,
    Reason.UNAVAILABLE: Cause.UNPACK_UNAVAILABLE,
    Reason.CONTENT_CHANGED: Cause.UNPACK_CHANGED,
    Reason.CONTENT_LOST: Cause.UNPACK_LOST,
}


def unpack_fact(bundle: Bundle, classes: Collection[str]) -> Fact:
    """`classes`: those that this operator serves."""
    if is_unknown_class(bundle.spec.provisioner_class):
        field = "spec.template.spec.provisionerClassName"
        detail = UnknownClass(class_name=bundle.spec.provisioner_class_name, field=field)
        return Fact(cause=Cause.UNPACK_CLASS, detail=detail)
    name, unpacked = bundle.metadata.name, find_condition(bundle.status.conditions, ConditionType.UNPACKED)
    why = unpacked.message if unpacked is not None else ""
    if bundle.status.phase == BundlePhase.FAILING:
        return Fact(cause=unpack_cause(bundle), detail=BundleFails(bundle=name, why=why))
    if bundle.spec.provisioner_class not in classes:
        other = BundleOfOtherClass(bundle=name, class_name=bundle.spec.provisioner_class_name)
        return Fact(cause=Cause.BUNDLE_CLASS_NOT_SERVED, detail=other)
    ready = find_condition(bundle.status.conditions, ConditionType.READY)
    is_held_up = unpacked is not None and unpacked.reason == Reason.UNPACK_PENDING and bool(why)
    line = ready.message if is_held_up and ready is not None else ""  # without what an image's references take
    return Fact(cause=Cause.BUNDLE_UNPACKING, detail=WaitingForBundle(bundle=name, why=line))


def unpack_cause(bundle: Bundle) -> Cause:
    """Cause in the Ready condition of the Bundle itself."""
    ready = find_condition(bundle.status.conditions, ConditionType.READY)
    return _CAUSES.get(ready.reason, Cause.UNPACK_FAILED) if ready is not None else Cause.UNPACK_FAILED
