"""Content that a deployment had before comes from the store, where a record shows that it had it."""

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleSpec
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, BundleTemplate
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.names import CONTENT_DIGEST_ANNOTATION, PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource, UploadSource
from rukpak_py.content.records import BundleRecord
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.bundle.owners import BundleOwners, FormerContent
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.bundle.unpacking import Result, Unpacked, UnpackJobs
from rukpak_py.controllers.cache import Cache
from rukpak_py.core.errors import UnavailableError
from tests.unit.controllers.fakes import FakeContent, FakeRecords, FakeSources, nothing_installed
from tests.waiting import until

TREE = Tree({"manifests/a.yaml": b"a: 1\n"})
PINNED = Source(type="image", image=ImageSource(ref="example.com/web@sha256:1"))
TAGGED = Source(type="image", image=ImageSource(ref="example.com/web:1"))
UPLOAD = Source(type="upload", upload=UploadSource())
UID = "uid-of-web"


def spec(source: Source) -> BundleSpec:
    return BundleSpec(provisioner_class_name=PLAIN_CLASS, source=source)


def bundle(source: Source, named: str = "", *, owner: str = UID) -> Bundle:
    reference = OwnerReference(
        api_version="core.rukpak.io/v1alpha1", kind="BundleDeployment", name="web", uid=owner, controller=True
    )
    annotations = {CONTENT_DIGEST_ANNOTATION: named} if named else {}
    metadata = ObjectMeta(name="web-1", uid="uid-of-bundle", annotations=annotations, owner_references=(reference,))
    return Bundle(metadata=metadata, spec=spec(source))


def deployment(wanted: Source, *former: tuple[Source, str]) -> BundleDeployment:
    history = tuple(
        Installation(bundle="web-0", digest=digest, time="", template=BundleTemplate(spec=spec(source)))
        for source, digest in former
    )
    return BundleDeployment(
        metadata=ObjectMeta(name="web", uid=UID, resource_version="1"),
        spec=BundleDeploymentSpec(provisioner_class_name=PLAIN_CLASS, template=BundleTemplate(spec=spec(wanted))),
        status=BundleDeploymentStatus(history=history),
    )


async def formerly(found: BundleDeployment, of: Bundle) -> FormerContent | None:
    cache = Cache[BundleDeployment](clock=lambda: 0.0)
    cache.put(found)
    return await BundleOwners(None, cache).formerly(of)  # type: ignore[arg-type]  # no request is made


async def test_pinned_source_of_the_history_names_its_content() -> None:
    found = await formerly(deployment(PINNED, (TAGGED, "b"), (PINNED, "a")), bundle(PINNED))
    assert found == FormerContent(digest="a", deployment=UID, is_named=False)


async def test_source_that_moves_names_none() -> None:
    assert await formerly(deployment(TAGGED, (TAGGED, "a")), bundle(TAGGED)) is None
    assert await formerly(deployment(UPLOAD, (UPLOAD, "a")), bundle(UPLOAD)) is None


async def test_source_that_was_never_installed_names_none() -> None:
    assert await formerly(deployment(PINNED), bundle(PINNED)) is None


async def test_bundle_that_names_its_content_accepts_no_other() -> None:
    found = await formerly(deployment(UPLOAD, (UPLOAD, "b"), (UPLOAD, "a")), bundle(UPLOAD, "a"))
    assert found == FormerContent(digest="a", deployment=UID, is_named=True)


async def test_bundle_of_other_content_gets_nothing_of_the_deployment_by_naming_it() -> None:
    found = await formerly(deployment(PINNED, (PINNED, "a")), bundle(UPLOAD, "a"))
    assert found == FormerContent(digest="a", deployment="", is_named=True)


async def job(
    former: FormerContent | None, *records: BundleRecord, content: FakeContent | None = None
) -> tuple[Result | None, UnpackJobs]:
    async def said(_: Bundle) -> FormerContent | None:
        return former

    ended = list[str]()
    jobs = UnpackJobs(
        FakeSources(tree=TREE, error=UnavailableError("the registry is gone")),
        content or FakeContent(stored={TREE.digest: TREE}),
        records=FakeRecords(kept={one.uid: one for one in records}),
        states=BundleStates(),
        deployment_class=lambda _: PLAIN_CLASS,
        deployment_uid=lambda _: UID,
        installed_as=nothing_installed,
        formerly=said,
        on_end=ended.append,
    )
    wanted = bundle(PINNED)
    jobs.start(wanted)
    await until(lambda: bool(ended))
    return jobs.take(wanted), jobs


RECORD = BundleRecord(uid="gone", deployment=UID, spec_digest="", digest=TREE.digest, source=TAGGED, artifact_type="t")
FORMER = FormerContent(digest=TREE.digest, deployment=UID, is_named=False)


async def test_stored_content_needs_no_server() -> None:
    result, _ = await job(FORMER, RECORD)
    assert result == Unpacked(digest=TREE.digest, resolved=PINNED, artifact_type="t")


async def test_content_without_a_record_of_the_deployment_is_fetched() -> None:
    for records in ((), (replace(RECORD, deployment="another"),), (replace(RECORD, digest="other"),)):
        result, _ = await job(FORMER, *records)
        assert not isinstance(result, Unpacked)


async def test_content_that_is_not_stored_any_more_is_fetched() -> None:
    result, _ = await job(FORMER, RECORD, content=FakeContent())
    assert not isinstance(result, Unpacked)


async def test_content_that_a_bundle_names_is_the_only_one_it_may_have() -> None:
    _, jobs = await job(FormerContent(digest=TREE.digest, deployment=UID, is_named=True))
    assert jobs.pinned_digest(bundle(PINNED)) == TREE.digest
    _, jobs = await job(FORMER)
    assert not jobs.pinned_digest(bundle(PINNED))
