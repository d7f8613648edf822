"""Content that a deployment had before comes from the store, where a record shows that it had it."""

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleSpec
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, BundleTemplate
from rukpak_py.api.metadata import ObjectMeta, OwnerReference, TemplateMeta
from rukpak_py.api.names import CONTENT_DIGEST_ANNOTATION, PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource, UploadSource
from rukpak_py.api.template_hash import bundle_name, spec_digest, template_hash
from rukpak_py.content.records import BundleRecord
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.bundle.owners import BundleOwners, FormerContent
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.bundle.unpacking import Result, Unpacked, UnpackJobs
from rukpak_py.controllers.cache import Cache
from rukpak_py.core.errors import ContentError, UnavailableError
from tests.unit.controllers.fakes import FakeContent, FakeRecords, FakeSources, nothing_installed
from tests.waiting import until

TREE = Tree({"manifests/a.yaml": b"a: 1\n"})
PINNED = Source(type="image", image=ImageSource(ref="example.com/web@sha256:1"))
TAGGED = Source(type="image", image=ImageSource(ref="example.com/web:1"))
UPLOAD = Source(type="upload", upload=UploadSource())
UID = "uid-of-web"


def spec(source: Source) -> BundleSpec:
    return BundleSpec(provisioner_class_name=PLAIN_CLASS, source=source)


def template(source: Source, named: str = "") -> BundleTemplate:
    annotations = {CONTENT_DIGEST_ANNOTATION: named} if named else {}
    return BundleTemplate(metadata=TemplateMeta(annotations=annotations), spec=spec(source))


def name_of(one: BundleTemplate) -> str:
    return bundle_name("web", template_hash(one))


def bundle(source: Source, named: str = "") -> Bundle:
    """The Bundle that the operator makes of the template."""
    made_of = template(source, named)
    reference = OwnerReference(
        api_version="core.rukpak.io/v1alpha1", kind="BundleDeployment", name="web", uid=UID, controller=True
    )
    metadata = ObjectMeta(
        name=name_of(made_of),
        uid="uid-of-bundle",
        annotations=made_of.metadata.annotations,
        owner_references=(reference,),
    )
    return Bundle(metadata=metadata, spec=spec(source))


def deployment(wanted: Source, *former: tuple[Source, str], named: str = "") -> BundleDeployment:
    history = tuple(
        Installation(bundle=name_of(template(source)), digest=digest, time="", template=template(source))
        for source, digest in former
    )
    return BundleDeployment(
        metadata=ObjectMeta(name="web", uid=UID, resource_version="1"),
        spec=BundleDeploymentSpec(provisioner_class_name=PLAIN_CLASS, template=template(wanted, named)),
        status=BundleDeploymentStatus(history=history),
    )


async def formerly(found: BundleDeployment, of: Bundle) -> FormerContent | None:
    cache = Cache[BundleDeployment](clock=lambda: 0.0)
    cache.put(found)
    return await BundleOwners(None, cache).formerly(of)  # type: ignore[arg-type]  # no request is made


async def test_pinned_source_of_the_history_names_its_content() -> None:
    found = await formerly(deployment(PINNED, (TAGGED, "b"), (PINNED, "a")), bundle(PINNED))
    assert found == FormerContent(digest="a", deployment=UID)


async def test_source_that_moves_names_none() -> None:
    assert await formerly(deployment(TAGGED, (TAGGED, "a")), bundle(TAGGED)) is None
    assert await formerly(deployment(UPLOAD, (UPLOAD, "a")), bundle(UPLOAD)) is None


async def test_source_that_was_never_installed_names_none() -> None:
    assert await formerly(deployment(PINNED), bundle(PINNED)) is None


async def test_bundle_that_names_its_content_accepts_no_other() -> None:
    found = await formerly(deployment(UPLOAD, (UPLOAD, "b"), (UPLOAD, "a"), named="a"), bundle(UPLOAD, "a"))
    assert found == FormerContent(digest="a", deployment=UID, is_named=True)


async def test_bundle_of_a_former_template_gets_what_that_one_had() -> None:
    found = await formerly(deployment(TAGGED, (PINNED, "a")), bundle(PINNED))
    assert found == FormerContent(digest="a", deployment=UID)


async def test_source_that_was_changed_under_the_annotation_did_not_give_the_named_content() -> None:
    found = await formerly(deployment(TAGGED, (UPLOAD, "a"), named="a"), bundle(TAGGED, "a"))
    assert found == FormerContent(digest="a", deployment=UID, is_named=True, is_of_source=False)


async def test_annotation_of_the_bundle_alone_names_nothing() -> None:
    made = bundle(UPLOAD)
    annotated = replace(made, metadata=replace(made.metadata, annotations={CONTENT_DIGEST_ANNOTATION: "a"}))
    assert await formerly(deployment(UPLOAD, (UPLOAD, "b"), (UPLOAD, "a")), annotated) is None


async def test_bundle_that_only_claims_its_owner_gets_nothing_of_the_deployment() -> None:
    """The name is that of another template than its spec, or of none."""
    of_others = bundle(PINNED)
    for name in ("mine", name_of(template(TAGGED))):
        forged = replace(of_others, metadata=replace(of_others.metadata, name=name))
        assert await formerly(deployment(TAGGED, (PINNED, "a")), forged) is None


async def job(
    former: FormerContent | None,
    *records: BundleRecord,
    content: FakeContent | None = None,
    served: Tree | None = None,
) -> tuple[Result | None, UnpackJobs]:
    async def said(_: Bundle) -> FormerContent | None:
        return former

    ended = list[str]()
    jobs = UnpackJobs(
        FakeSources(tree=served or TREE, error=None if served else UnavailableError("the registry is gone")),
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
FORMER = FormerContent(digest=TREE.digest, deployment=UID)


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


NAMED = FormerContent(digest=TREE.digest, deployment=UID, is_named=True, is_of_source=False)


async def test_named_content_of_another_source_is_fetched_from_the_one_of_today() -> None:
    result, _ = await job(NAMED, replace(RECORD, spec_digest=spec_digest(spec(TAGGED))))
    assert not isinstance(result, Unpacked)


async def test_named_content_that_a_record_has_of_this_source_needs_no_server() -> None:
    of_another = replace(RECORD, uid="first", spec_digest=spec_digest(spec(TAGGED)))
    result, _ = await job(NAMED, of_another, replace(RECORD, spec_digest=spec_digest(spec(PINNED))))
    assert isinstance(result, Unpacked)


async def test_named_content_is_checked_like_any_content() -> None:
    refusing = FakeContent(refusing=ContentError("no manifests"))
    result, jobs = await job(NAMED, content=refusing, served=TREE)
    assert not isinstance(result, Unpacked)
    assert jobs.pinned_digest(bundle(PINNED)) == TREE.digest


async def test_stored_content_that_later_rules_refuse_is_what_the_deployment_had() -> None:
    content = FakeContent(stored={TREE.digest: TREE}, refusing=ContentError("refused by now"))
    result, _ = await job(FORMER, RECORD, content=content)
    assert isinstance(result, Unpacked)
