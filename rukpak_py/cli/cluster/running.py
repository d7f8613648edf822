"""`rukpakctl run`: a BundleDeployment for a directory, its content uploaded, and what became of it.

The template has the digest of the content as a label, so other content is another Bundle, and the same directory again
changes nothing: the archive has no times in it.

Without a class from the user the provisioner class is plain, as the original has it, unless the content is what class
plain cannot install: a chart, or an OLM bundle with its annotations. Plain manifests may contain a
ClusterServiceVersion, for a cluster with OLM, and stay plain; so does what has manifests/ beside a Chart.yaml.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Condition, find_condition, first_line
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    GROUP,
    HELM_CLASS,
    PLAIN_CLASS,
    REGISTRY_CLASS,
    ConditionStatus,
    ConditionType,
    SourceType,
)
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.api.template_hash import bundle_name, template_hash_of
from rukpak_py.cli.cluster.content_server import DownloadedArchive, Progress
from rukpak_py.cli.cluster.session import ClusterSession
from rukpak_py.content.tar import write_tgz
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import canonical_json
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.formats.detection import FormatName, detect_format
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.registry_v1.metadata.annotations import ANNOTATIONS_FILE
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, ServerUnavailableError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES
from rukpak_py.sources.local_directory import nothing
from rukpak_py.sources.local_directory import read_bundle as read_bundle_directory


class DetectedClass(NamedTuple):
    name: str
    content: str


PLAIN = DetectedClass(PLAIN_CLASS, "plain manifests")
REGISTRY = DetectedClass(REGISTRY_CLASS, "an OLM bundle")
HELM = DetectedClass(HELM_CLASS, "a Helm chart")


def detected_class(tree: Tree, limits: Limits = DEFAULT_LIMITS) -> DetectedClass:
    has_manifests = any(path.startswith(f"{MANIFESTS}/") for path in tree)
    match detect_format(tree, limits):
        case FormatName.HELM if not has_manifests:
            return HELM
        case FormatName.REGISTRY if ANNOTATIONS_FILE in tree:
            return REGISTRY
        case _:
            return PLAIN


FIELD_MANAGER = "rukpakctl"
APP_LABEL, DIGEST_LABEL = "app", "bundleDigest"
DIGEST_CHARACTERS = 16
BUNDLE_SECONDS = 60.0  # until the operator has created the Bundle
INTERVAL_SECONDS = 0.5

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Run:
    deployment: str
    tree: Tree
    deployment_class: str
    bundle_class: str
    install_namespace: str = ""

    @property
    def manifest(self) -> bytes:
        digest = self.tree.digest.removeprefix("sha256:")[:DIGEST_CHARACTERS]
        source = {"type": str(SourceType.UPLOAD), "upload": {}}
        template = {
            "metadata": {"labels": {APP_LABEL: self.deployment, DIGEST_LABEL: digest}},
            "spec": {"provisionerClassName": self.bundle_class, "source": source},
        }
        spec: dict[str, object] = {"provisionerClassName": self.deployment_class, "template": template}
        if self.install_namespace:
            spec["installNamespace"] = self.install_namespace
        return canonical_json(
            {
                "apiVersion": API_VERSION,
                "kind": BUNDLE_DEPLOYMENT_KIND,
                "metadata": {"name": self.deployment},
                "spec": spec,
            }
        )


@dataclass(frozen=True, kw_only=True)
class RunVerdict:
    is_ready: bool
    text: str
    is_pending: bool = False  # the upgrade waits, for an approval as a rule, and what was installed stays


class CommandError(RukPakError):
    """A step that failed; the message begins with which."""


def read(directory: Path, *, ignored: Callable[[str], bool] = nothing) -> Tree:
    """Before anything is sent."""
    if not directory.exists():
        raise ContentError(f"{directory}: there is no such file or directory")
    if not directory.is_dir():
        raise ContentError(f"{directory} is not a directory")
    return read_bundle_directory(directory, limits=Limits.from_environment(), ignored=ignored)


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    bundle: str
    is_new: bool  # the content was not there before
    former: Condition | None = None  # why the deployment was stalled before


async def run(
    cluster: ClusterSession,
    wanted: Run,
    *,
    seconds: float,
    say: Callable[[str], None],
    progress: Callable[[int], Progress],
) -> Uploaded:
    """Everything until the content is uploaded. `seconds`: the longest wait for the Bundle, where that is less."""
    client, name = cluster.client, wanted.deployment
    archive = DownloadedArchive(pieces=tuple(write_tgz(wanted.tree)))
    async with cluster.content_server() as server:  # first: where it cannot be reached, nothing changes
        await _step("apply bundle deployment", _apply(client, wanted))
        say(f'bundledeployment.{GROUP} "{name}" applied')
        bundle, deployment = await _step(
            "failed to get bundle name", _bundle_of(client, name, min(BUNDLE_SECONDS, seconds))
        )
        is_new = await _step("failed to upload bundle", server.upload(bundle, archive, progress(archive.size)))
    say(
        f'successfully uploaded bundle content for "{bundle}"' if is_new else f'bundle "{bundle}" is already up-to-date'
    )
    return Uploaded(bundle=bundle, is_new=is_new, former=condition_of(deployment, ConditionType.STALLED))


async def verdict(
    client: Client, name: str, uploaded: Uploaded, *, seconds: float, tell: Callable[[str], None] = lambda _: None
) -> RunVerdict:
    """Whether the deployment became Ready with this Bundle. It ends early where nothing but other content helps, and
    where the upgrade waits.

    `tell`: of every change of what the deployment waits for.
    """
    said = "the operator has not reported anything about it"
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                try:
                    found = read_bundle_deployment(await client.get(BUNDLE_DEPLOYMENTS, "", name))
                except ServerUnavailableError as error:  # it may be away for a moment
                    said = str(error)
                else:
                    if (judgement := judged(found, uploaded)) is not None:
                        return judgement
                    ready = condition_of(found, ConditionType.READY)
                    if ready is not None and ready.status != ConditionStatus.TRUE and ready.message != said:
                        said = ready.message
                        tell(first_line(said))
                await asyncio.sleep(INTERVAL_SECONDS)
    return RunVerdict(is_ready=False, text=f"not within {seconds:g} s: {said}")


def judged(deployment: BundleDeployment, uploaded: Uploaded) -> RunVerdict | None:
    """None: it goes on. What was said before the new content came still stands there for a moment."""
    ready, stalled = (condition_of(deployment, kind) for kind in (ConditionType.READY, ConditionType.STALLED))
    is_active = deployment.status.active_bundle == uploaded.bundle
    if ready is not None and ready.status == ConditionStatus.TRUE and is_active:
        return RunVerdict(is_ready=True, text=ready.message)
    pending = deployment.status.pending_upgrade
    if ready is not None and pending is not None and pending.bundle == uploaded.bundle:
        return RunVerdict(is_ready=False, is_pending=True, text=ready.message)
    if stalled is not None and not (uploaded.is_new and stalled == uploaded.former):
        return RunVerdict(is_ready=False, text=stalled.message)
    return None


async def _apply(client: Client, wanted: Run) -> None:
    name = wanted.deployment
    with suppress(NotFoundError):
        found = read_bundle_deployment(await client.get(BUNDLE_DEPLOYMENTS, "", name)).spec.template.spec.source.type
        if found != SourceType.UPLOAD:
            raise ConflictError(
                f"BundleDeployment {name} exists and has a source of type {found}: use another name, or delete it"
            )
    await client.apply(BUNDLE_DEPLOYMENTS, "", name, wanted.manifest, field_manager=FIELD_MANAGER, force=True)


async def _bundle_of(client: Client, name: str, seconds: float) -> tuple[str, BundleDeployment]:
    """Its name, which follows from the template as the API server has it, once it exists; and its deployment."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    failure: RukPakError
    while True:
        try:
            deployment = read_bundle_deployment(await client.get(BUNDLE_DEPLOYMENTS, "", name))
            bundle = bundle_name(name, template_hash_of(deployment))
            if _is_of(await _bundle(client, bundle), deployment):
                return bundle, deployment
            failure = UnavailableError(
                f"Bundle {bundle} was not created within {seconds:g} s: {_why_no_bundle(deployment)}"
            )
        except ServerUnavailableError as error:  # it may be away for a moment
            failure = error
        if loop.time() >= until:
            raise UnavailableError(
                f"{failure}. BundleDeployment {name} stays: run the command again, or delete it"
            ) from failure
        await asyncio.sleep(INTERVAL_SECONDS)


def _why_no_bundle(deployment: BundleDeployment) -> str:
    ready = condition_of(deployment, ConditionType.READY)
    if ready is not None:
        return ready.message.rstrip(".")
    wanted = deployment.spec.provisioner_class_name
    return (
        f'no operator has reported anything about it. Is one running, and does it serve the class "{wanted}"? '
        f"rukpak-py serves {', '.join(sorted(CLASSES))}"
    )


async def _bundle(client: Client, name: str) -> Bundle | None:
    try:
        return read_bundle(await client.get(BUNDLES, "", name))
    except NotFoundError:
        return None


def _is_of(bundle: Bundle | None, deployment: BundleDeployment) -> bool:
    controller = bundle.metadata.controller if bundle is not None else None
    return controller is not None and controller.uid == deployment.metadata.uid


def condition_of(deployment: BundleDeployment, kind: ConditionType) -> Condition | None:
    """Condition of the present spec; None while the status is that of a former one."""
    if deployment.status.observed_generation != deployment.metadata.generation:
        return None
    return find_condition(deployment.status.conditions, kind)


async def _step(what: str, work: Awaitable[T]) -> T:
    try:
        return await work
    except RukPakError as error:
        raise CommandError(f"{what}: {error}") from error
