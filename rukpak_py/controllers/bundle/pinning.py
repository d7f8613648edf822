"""Content that a Bundle was unpacked as: its status and a record of ours name it, and the two are compared.

Others may write the status, so the record counts. The situation of a Bundle with a record is one of three: the status
agrees; it has no digest (it was emptied, or restored without), and is written again; or it has
another digest, and is reported and not believed: neither digest is taken for the other one, and nothing is fetched,
served or installed by it until the digest is restored.
"""

from collections.abc import Callable
from enum import Enum, auto

from msgspec import structs

from rukpak_py.api.bundle import Bundle, pinned_source
from rukpak_py.api.names import BundlePhase
from rukpak_py.api.source_types import ImageSource
from rukpak_py.api.template_hash import spec_digest
from rukpak_py.content.records import BundleRecord
from rukpak_py.controllers.bundle.unpacking import Unpacked
from rukpak_py.controllers.ports import Content, Records
from rukpak_py.controllers.result.bundle_details import DigestReplaced, SpecReplaced
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress, Reached, StatusChange, UnpackedContent
from rukpak_py.formats.by_class import served_form


class RecordSituation(Enum):
    NO_RECORD = auto()
    AGREED = auto()
    NOT_PINNED = auto()  # the status does not say that the Bundle is unpacked
    CONTRADICTED = auto()  # the status has another digest


def is_pinned(bundle: Bundle) -> bool:
    return bool(bundle.status.digest) and bundle.status.phase == BundlePhase.UNPACKED


class Pinning:
    def __init__(
        self,
        content: Content,
        records: Records,
        *,
        deployment_uid: Callable[[Bundle], str],
        content_url: Callable[[str], str] = lambda _: "",
    ) -> None:
        """`deployment_uid`: of the deployment whose template the Bundle is of; empty: there is none.

        `content_url`: where the content of the Bundle of this name can be downloaded.
        """
        self.content_url = content_url
        self._content = content
        self._records = records
        self._deployment_uid = deployment_uid

    def record_of(self, bundle: Bundle) -> BundleRecord | None:
        return self._records.of(bundle.metadata.uid)

    def situation(self, bundle: Bundle) -> RecordSituation:
        record = self.record_of(bundle)
        if record is None:
            return RecordSituation.NO_RECORD
        if bundle.status.digest not in {"", record.digest}:
            return RecordSituation.CONTRADICTED
        return RecordSituation.AGREED if is_pinned(bundle) else RecordSituation.NOT_PINNED

    async def is_stored(self, bundle: Bundle) -> bool:
        """The content of its record. Without one, nothing that is stored counts as its content."""
        record = self.record_of(bundle)
        return record is not None and await self._content.has(record.digest)

    async def link(self, bundle: Bundle, digest: str) -> None:
        await self._content.link(bundle.metadata.name, digest, served_form(bundle.spec.provisioner_class))

    async def pin_again(self, bundle: Bundle, record: BundleRecord) -> Progress:
        """The content of the record is stored: serve it, and say so."""
        await self.link(bundle, record.digest)
        return self._unpacked(bundle, record)

    async def pin(self, bundle: Bundle, found: Unpacked) -> Progress:
        """The same for content that was found just now.

        It is recorded before the status says it: a process that is killed in between, or cannot write the status,
        leaves a record, from which the status is written without another fetch.
        """
        record = self.record_of(bundle)
        if record is None:
            record = BundleRecord(
                uid=bundle.metadata.uid,
                deployment=self._deployment_uid(bundle),
                spec_digest=bundle.status.spec_digest or spec_digest(bundle.spec),
                digest=found.digest,
                source=found.resolved,
                artifact_type=found.artifact_type,
            )
            await self._records.keep(record)
        return await self.pin_again(bundle, record)

    async def adopt(self, bundle: Bundle) -> BundleRecord | None:
        """Record what an operator without records unpacked: its link and the status agree. None: nothing like that.

        Of `resolvedSource` only the pin counts, as wherever there is no record.
        """
        if not self._records.are_new or not is_pinned(bundle):
            return None
        if not await self._content.is_linked(bundle.metadata.name, bundle.status.digest):
            return None
        source = pinned_source(bundle)
        if source.image is not None:
            source = structs.replace(source, image=ImageSource(ref=source.image.ref))  # its login stays in the spec
        says = self._as_the_status_says(bundle)
        record = structs.replace(says, deployment=self._deployment_uid(bundle), source=source)
        await self._records.keep(record)
        return record

    async def contradiction(self, bundle: Bundle, record: BundleRecord) -> Progress:
        """The status has another digest than the record."""
        await self._content.unlink(bundle.metadata.name)
        return Progress(facts=(Fact(cause=Cause.DIGEST_CHANGED, detail=DigestReplaced(recorded=record.digest)),))

    async def as_recorded(self, bundle: Bundle) -> Progress:
        """Report a pinned Bundle as its spec, its record and this process have it now."""
        record = self.record_of(bundle)
        if record is not None:
            await self._follow_deployment(bundle, record)
        unpacked_by = record.spec_digest if record is not None else bundle.status.spec_digest
        if unpacked_by and unpacked_by != spec_digest(bundle.spec):
            return Progress(facts=(Fact(cause=Cause.SPEC_CHANGED, detail=SpecReplaced()),))
        return self._unpacked(bundle, record or self._as_the_status_says(bundle))

    async def _follow_deployment(self, bundle: Bundle, record: BundleRecord) -> None:
        """Record another deployment of the name that took the Bundle over: the content is that one's from now on."""
        uid = self._deployment_uid(bundle)
        if uid and uid != record.deployment:
            await self._records.keep(structs.replace(record, deployment=uid))

    def _unpacked(self, bundle: Bundle, record: BundleRecord) -> Progress:
        content = UnpackedContent(
            digest=record.digest,
            source=record.source.without_ca_bundles(),
            artifact_type=record.artifact_type,
            spec_digest=record.spec_digest or bundle.status.spec_digest or spec_digest(bundle.spec),
            url=self.content_url(bundle.metadata.name),
        )
        return Progress(change=StatusChange(content=content), reached=Reached.FINISHED)

    def _as_the_status_says(self, bundle: Bundle) -> BundleRecord:
        """Record made from the status, to write the status once more; never to be kept."""
        status = bundle.status
        return BundleRecord(
            uid=bundle.metadata.uid,
            spec_digest=status.spec_digest or spec_digest(bundle.spec),
            digest=status.digest,
            source=status.resolved_source or bundle.spec.source,
            artifact_type=status.artifact_type,
        )
