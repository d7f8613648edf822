"""Content as a BundleDeployment would install it, rendered on this machine with the rights of the user.

Options, owner and account are those of the live spec. Values that the spec refers to are read in the cluster, and so
is what templates of a chart look up. Nothing is written.
"""

import asyncio
import base64
from collections.abc import Iterable
from dataclasses import dataclass, replace

import orjson
from msgspec import structs

from rukpak_py.api.accounts import effective_account
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.install_options import options_of
from rukpak_py.api.names import HELM_CLASS, REGISTRY_CLASS
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.apply.secret_values import values_of
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.cluster import crd_resource
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import ChartReleases, ClusterCapabilities
from rukpak_py.controllers.deployment.lookups import LookupPolicy
from rukpak_py.controllers.deployment.rendered_objects import desired_of, patched_objects
from rukpak_py.controllers.deployment.rendering import render_options
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.state_parts import ContentFacts
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import GroupVersionKind, Object
from rukpak_py.formats.by_class import format_of_deployment
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.formats.helm.settings import ValuesReference, references_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, SECRETS, Resource

_VALUES = {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}


class ContentNotComparedError(RukPakError):
    """The content cannot be compared with the cluster, and the text says why."""


@dataclass(frozen=True, kw_only=True)
class WantedContent:
    attempt: Attempt
    desired: tuple[Desired, ...]
    resolution: Resolution
    hooks: int


@dataclass(frozen=True, kw_only=True)
class GivenContent:
    """`bundle_class`: what the content is, where it is not that of the template; `is_directory`: how it came."""

    tree: Tree
    is_directory: bool
    bundle_class: str = ""


async def wanted_content(
    client: Client,
    discovery: Discovery,
    deployment: BundleDeployment,
    given: GivenContent,
    *,
    system_namespace: str,
    helm: str | None = None,
) -> WantedContent:
    """`system_namespace`: of the operator, where values and objects of a deployment without a namespace are."""
    attempt = await _attempt(client, deployment, given, system_namespace=system_namespace)
    limits = Limits.from_environment()
    options = replace(render_options(attempt), is_directory=given.is_directory, limits=limits, helm=helm)
    content = await _rendered(client, discovery, attempt, given.tree, options, system_namespace=system_namespace)
    attempt.state.rendered(attempt.content, ContentFacts(namespace=content.default_namespace))
    if attempt.makes_namespace and not any(attempt.makes(one) for one in content.objects):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": attempt.install_namespace}}
        content = replace(content, objects=[Object.from_manifest(namespace), *content.objects])
    if attempt.options.patches:
        content = replace(content, objects=patched_objects(attempt, content, limits).objects)
    resolution = _resolution(content.objects, discovery)
    desired = await desired_of(content, resolution, attempt)
    return WantedContent(attempt=attempt, desired=desired, resolution=resolution, hooks=len(content.hooks))


async def _attempt(
    client: Client, deployment: BundleDeployment, given: GivenContent, *, system_namespace: str
) -> Attempt:
    """As the operator makes it; the Bundle is that of the template, and has no name."""
    options, spec = options_of(deployment.spec), deployment.spec.template.spec
    if given.bundle_class:
        spec = structs.replace(spec, provisioner_class_name=given.bundle_class)
    bundle = Bundle(spec=spec)
    chooses = bundle.spec.provisioner_class == REGISTRY_CLASS and not options.install_namespace
    namespace = "" if chooses else options.install_namespace or system_namespace
    account = effective_account(deployment.spec, default="", system_namespace=system_namespace)
    state = DeploymentState()
    references = references_of(options.config or {}) if deployment.spec.provisioner_class == HELM_CLASS else ()
    where = account.namespace if account is not None else system_namespace
    values = [found for one in references if (found := await _values(client, where, one)) is not None]
    state.mask.learn(deployment, [one for one in values if one.is_secret])
    return Attempt(
        deployment=deployment,
        bundle=bundle,
        options=options,
        install_namespace=namespace,
        makes_namespace=options.create_namespace and await _may_make(client, namespace, deployment.metadata.uid),
        state=state,
        values=tuple(values),
        is_wanted=True,
        account=account,
    )


async def _values(client: Client, namespace: str, reference: ValuesReference) -> ValuesDocument | None:
    name = f"{reference.kind} {namespace}/{reference.name}"
    try:
        body = await client.get(_VALUES[reference.kind], namespace, reference.name)
    except NotFoundError:
        if reference.is_optional:
            return None
        raise ContentNotComparedError(f"{name}, which has values of the chart, does not exist") from None
    data = values_of(body) if reference.is_secret else _texts_of(body)
    if reference.key not in data:
        if reference.is_optional:
            return None
        raise ContentNotComparedError(f'{name}, which has values of the chart, has no key "{reference.key}"')
    origin = f"{name}, key {reference.key}"
    return ValuesDocument(document=data[reference.key], origin=origin, is_secret=reference.is_secret)


def _texts_of(body: bytes) -> dict[str, bytes]:
    manifest = orjson.loads(body)
    texts = {key: text.encode() for key, text in (manifest.get("data") or {}).items()}
    return texts | {key: base64.b64decode(value) for key, value in (manifest.get("binaryData") or {}).items()}


async def _may_make(client: Client, namespace: str, uid: str) -> bool:
    """Whether the install namespace is missing, or the deployment's."""
    try:
        metadata = await client.get_metadata(NAMESPACES, "", namespace)
    except NotFoundError:
        return True
    return observed_object(NAMESPACES.key("", namespace), NAMESPACES.gvk, metadata).owner_uid == uid


async def _rendered(
    client: Client,
    discovery: Discovery,
    attempt: Attempt,
    tree: Tree,
    options: RenderOptions,
    *,
    system_namespace: str,
) -> RenderedContent:
    made = format_of_deployment(attempt.classes)
    if not attempt.is_nondeterministic:
        return await asyncio.to_thread(made.render, tree, options)
    releases = ChartReleases(
        client_of=lambda _: client,
        capabilities=ClusterCapabilities(client, discovery),
        discovery=discovery,
        policy=LookupPolicy(system_namespace=system_namespace),
        limits=options.limits,
    )
    lookups, loop = releases.lookups_of(attempt), asyncio.get_running_loop()
    options = replace(
        options,
        release=await releases.release_of(attempt, await releases.rendering_of(attempt)),
        look_up=lambda question: asyncio.run_coroutine_threadsafe(lookups.reply(question), loop).result(),
    )
    try:
        return await lookups.during(asyncio.to_thread(made.render, tree, options))
    finally:
        attempt.state.mask.learn_looked_up(attempt.deployment, lookups.secrets)


def _resolution(objects: Iterable[Object], discovery: Discovery) -> Resolution:
    objects = list(objects)
    brought = {one.gvk: one for obj in objects for one in _brought_by(obj)}
    states, resources = dict[GroupVersionKind, KindState](), dict[GroupVersionKind, Resource]()
    for gvk in dict.fromkeys(obj.head.gvk for obj in objects):
        served = discovery.find(gvk)
        resource = served or brought.get(gvk)
        if resource is not None:
            resources[gvk] = resource
        states[gvk] = KindState.SERVED if served else KindState.NEW if resource else KindState.MISSING
    missing = tuple(obj.head for obj in objects if states[obj.head.gvk] is KindState.MISSING)
    return Resolution(states=states, resources=resources, missing=missing)


def _brought_by(obj: Object) -> list[Resource]:
    crd = crd_facts(obj.json) if obj.head.gvk.group_kind == CRDS.group_kind else None
    return [crd_resource(crd, version) for version in crd.versions] if crd is not None else []
