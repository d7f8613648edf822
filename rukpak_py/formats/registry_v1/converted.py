"""registry+v1 as the original serves it: converted to plain manifests, once, when the RegistryBundle is unpacked.

All namespaces, no options and no certificates, so a bundle that cannot be installed so is refused, in the original's
words. The converted form is an archive with one file, which others may download and apply: with the Namespace, and in
the original's order. A deployment of class plain installs the same objects; the Namespace it shares with others.
"""

from collections.abc import Iterator, Sequence

from rukpak_py.api.names import PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object
from rukpak_py.core.text import joined
from rukpak_py.formats import dns
from rukpak_py.formats.format import Certificates, OlmIdentity, RenderedContent, RenderOptions
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import InstallMode, RegistryBundle
from rukpak_py.formats.registry_v1.kinds import SUPPORTED
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render import install_namespace, render
from rukpak_py.formats.registry_v1.render.installation import ALL_NAMESPACES
from rukpak_py.formats.rules import Locator

PREFIX = "convert registry+v1 bundle to plain+v0 bundle: "
MANIFEST = "manifests/manifest.yaml"


class ConvertedFormat:
    def check(
        self,
        tree: Tree,
        *,
        is_directory: bool = False,  # noqa: ARG002 - for charts
        limits: Limits = DEFAULT_LIMITS,
    ) -> Tree:
        bundle = _read(tree, limits)
        return _archive(bundle, _convert(bundle, tree, limits), limits)

    def render(self, tree: Tree, options: RenderOptions) -> RenderedContent:
        bundle = _read(tree, options.limits)
        namespace = own_namespace(bundle)
        given = [
            *([f'spec.installNamespace (it goes to "{namespace}")'] if options.install_namespace else []),
            *(["spec.config"] if options.config else []),
        ]
        if given:
            raise ContentError(
                f"class {PLAIN_CLASS} installs an OLM bundle without options: remove {' and '.join(given)}, "
                f"or set spec.provisionerClassName to {REGISTRY_CLASS}"
            )
        manifests = _convert(bundle, tree, options.limits)
        return RenderedContent(
            objects=applicable(bundle, manifests),
            default_namespace=namespace,
            olm=OlmIdentity(package=bundle.metadata.package, csv=bundle.csv.name),
            description=bundle.description,
        )

    def stays_small(self, tree: Tree) -> bool:  # noqa: ARG002 - a CSV is typed and checked, which takes its time
        return False


def converted(bundle: RegistryBundle, tree: Tree, limits: Limits) -> Tree | None:
    """The converted form of a bundle that can be rendered; None when it cannot be converted."""
    try:
        return _archive(bundle, _convert(bundle, tree, limits), limits)
    except ContentError:
        return None


def own_namespace(bundle: RegistryBundle) -> str:
    """Where the bundle goes by its own choice."""
    namespace = install_namespace(bundle)
    if dns.label(namespace):
        raise ContentError(
            f'the namespace that the bundle chooses, "{namespace}", is not a valid namespace name; '
            "set spec.installNamespace"
        )
    return namespace


def _read(tree: Tree, limits: Limits) -> RegistryBundle:
    try:
        return read(tree, limits=limits).complete()
    except ContentError as error:
        raise _prefixed(error) from error


def _convert(bundle: RegistryBundle, tree: Tree, limits: Limits) -> list[Json]:
    """The objects, without the Namespace."""
    for problem in _refused(bundle):
        raise ContentError(PREFIX + problem)
    options = RenderOptions(watch_namespaces=ALL_NAMESPACES, certificates=Certificates.NONE, limits=limits)
    try:
        return render(bundle, options, Locator(tree, limits))
    except ContentError as error:
        raise _prefixed(error) from error


def _refused(bundle: RegistryBundle) -> Iterator[str]:
    """In the original's words and order; it tells the first only."""
    advice = f"; a BundleDeployment of class {REGISTRY_CLASS} can install it"
    if InstallMode.ALL not in bundle.csv.supported_modes:
        yield f"AllNamespace install mode must be enabled{advice}"
    if bundle.csv.owned_api_services:
        yield "apiServiceDefintions are not supported"
    if bundle.csv.webhooks:
        yield f"webhookDefinitions are not supported{advice}"
    for document in bundle.others:
        if document.kind not in SUPPORTED:
            yield f"bundle contains unsupported resource: Name: {document.name}, Kind: {document.kind}"


def _prefixed(error: ContentError) -> ContentError:
    text = f"{PREFIX}{error}"
    if isinstance(error, InvalidBundleError):
        return InvalidBundleError(error.findings, text=text)
    return ContentError(text)


def _archive(bundle: RegistryBundle, manifests: list[Json], limits: Limits) -> Tree:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": install_namespace(bundle)}}
    archive = TreeBuilder(limits)
    archive.add(MANIFEST, "".join(dump_all([namespace, *manifests])).encode())
    return archive.build()


def applicable(bundle: RegistryBundle, manifests: Sequence[Json]) -> list[Object]:
    """Rendered objects of a bundle, refused where a cluster could have no kind for them.

    A bundle may ship objects without an apiVersion, and rendering keeps them so: the reference renderer does. No API
    server has such a kind; waiting for it would be in vain, so that is an error of the content, by file.
    """
    documents = [*(definition.document for definition in bundle.definitions), *bundle.others]
    nameless = [one for one in documents if not one.api_version]
    if nameless:
        found = joined(f"{one.file}: {one.kind} '{one.name}' has no apiVersion" for one in nameless)
        raise ContentError(f"{found}. Add it as the documentation of the kind has it.")
    return [Object.from_manifest(one) for one in manifests]
