"""The public functions. A bundle is opened and rendered the same way for each of them, with the same keywords."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, cast

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.detection import FormatName
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.option_checks import demand_namespace, demand_namespaces, demand_several, member
from rukpak_py.library.opened import ChartOptions, ChartValues, Content, Json, OpenedBundle, Rendering, open_bundle

# As texts, because that is what callers have; type checkers know which ones.
AnyFormat: TypeAlias = Literal["registry+v1", "plain", "helm"]
AnyCertificates: TypeAlias = Literal["operator", "cert-manager", "openshift", "none"]
AnyProfile: TypeAlias = Literal[
    "default", "opm", "strict", "operatorhub", "community", "bundle-objects", "practices", "olmv1"
]


class InspectKeywords(TypedDict, total=False):
    """How a bundle is opened, and how a chart is rendered; `render` says what they mean."""

    format: AnyFormat | None
    limits: Limits | None
    registries: bool
    values: Json | Sequence[Json | str]
    settings: Sequence[str]
    release_name: str | None
    kube_version: str | None
    api_versions: Sequence[str]
    helm: str | None


class RenderKeywords(InspectKeywords, total=False):
    """How any bundle is rendered; `render` says what they mean."""

    install_namespace: str | None
    watch_namespaces: Sequence[str] | None
    certificates: AnyCertificates
    parity: bool
    deployment_config: Json | None
    aggregated_roles: bool


def render(path: Content, *, hooks: bool = True, **options: Unpack[RenderKeywords]) -> list[Json]:
    """The objects that installing the bundle at `path` applies, as an API server takes them, always in the same order.

    `path` is a bundle's directory, a tar archive of it, an OCI image layout, or a mapping of the bundle's paths to
    their bytes. With `registries` it may be an image of a registry, which is pulled with the caller's logins. `format`
    is `registry+v1`, `plain` or `helm`; by default the content decides. `watch_namespaces` are those that the operator
    watches: `[""]` is all of them, None lets the bundle decide. `certificates` says who makes those of webhooks:
    `operator` (our own signer, the default), `cert-manager`, `openshift` or `none`. `deployment_config` are the
    settings of OLM's deploymentConfig. `aggregated_roles` adds roles for the users of the operator's kinds. `parity`
    gives what OLM's own renderer makes, without our deliberate deviations. `limits` bound what is read; see `Limits`.
    The objects are the caller's: they may be changed. Fields that a kind of the API server itself does not have are
    left out; `rendering` and `validate` name them.

    For charts: `values` are mappings or YAML texts, the later ones win; `settings` are `key=value` as in `--set` of
    helm, and win over them; `release_name`, `kube_version` and `api_versions` are what templates see of the release and
    the cluster. The objects of crds/ come first, then the others, then hooks unless `hooks` is false; tests are left
    out. `helm` is the program that renders, by default that of `RUKPAK_HELM`, else the one on PATH.

    Raises InvalidBundleError (with `findings`) or another ContentError when the bundle cannot be rendered so: it is
    invalid, larger than the limits, or supports no such namespaces; `deployment_config` is no such configuration; an
    option is for bundles of another format. UnavailableError: there is no helm for a chart, `path` cannot be read, or a
    registry does not answer. AccessError: a permission or a login is missing. ValueError or TypeError: an argument
    cannot be meant for any bundle.
    """
    _, made = _rendered(path, **options)
    return [_copied(one) for one in (made.all if hooks else made.objects)]


def rendering(path: Content, **options: Unpack[RenderKeywords]) -> Rendering:
    """The objects of `render`, the hooks of a chart apart from them, and what is left out, added or merged.

    `left_out` holds the sentences that `rukpakctl bundle render` prints as warnings. With `parity` it is empty.
    """
    opened, made = _rendered(path, **options)
    warnings = [] if opened.parity else list(map(str, opened.warnings()))
    return replace(
        made,
        objects=[*map(_copied, made.objects)],
        hooks=[*map(_copied, made.hooks)],
        left_out=[*warnings, *made.left_out],
    )


def validate(
    path: Content,
    *,
    format: AnyFormat | None = None,  # noqa: A002 - the name of the option everywhere
    profiles: Collection[AnyProfile] = (),
    limits: Limits | None = None,
    registries: bool = False,
) -> list[Finding]:
    """Everything that is wrong with the bundle at `path`, by file and line; an empty list is a good sign.

    `path` and `registries` are as for `render`. Errors say that the bundle cannot be installed (the profile
    `default`); with `opm` instead, that `opm` refuses it; with both, that either is so. Other `profiles` add rules:
    `operatorhub`, `community`, `bundle-objects`, `practices`, `olmv1`. `strict` makes warnings errors.
    """
    demand_several(profiles, "profiles")
    opened = open_bundle(path, format=format, limits=limits or DEFAULT_LIMITS, registries=registries)
    return opened.findings(profiles)


def permissions(path: Content, *, escalate: bool = False, **options: Unpack[RenderKeywords]) -> Json:
    """The permissions that the bundle grants, the risky ones among them, and those of its installer, as plain data.

    The members are those of `rukpakctl bundle permissions -o json`. The keywords are those of `render`, and `escalate`:
    the installer may write and bind the bundle's roles without their permissions.
    """
    from rukpak_py.apply.permissions.documents import permissions_document  # noqa: PLC0415 - only here
    from rukpak_py.apply.permissions.grants import grants_of  # noqa: PLC0415 - the same
    from rukpak_py.apply.permissions.installer import needs_of  # noqa: PLC0415 - the same

    opened, made = _rendered(path, **options)
    needs = needs_of(
        made.objects,
        hooks=made.hooks,
        install_namespace=made.install_namespace or DEFAULT_SYSTEM_NAMESPACE,
        looks_for_olm=opened.format is FormatName.REGISTRY,
        escalate=escalate,
    )
    return cast("Json", _copied(permissions_document(grants_of(made.all), needs)))


def diff(old: Content, new: Content, *, all: bool = False, **options: Unpack[RenderKeywords]) -> Json:  # noqa: A002 - the name of the option
    """Differences between two bundles, in what they say of themselves, install and allow, as plain data.

    The members are those of `rukpakctl bundle diff -o json`. The keywords are those of `render`, for both bundles, and
    `all`: count descriptions in CRDs, and annotations that pods have from the CSV, too.
    """
    from rukpak_py.library.diffs.bundles import compared  # noqa: PLC0415 - only here
    from rukpak_py.library.diffs.documents import document  # noqa: PLC0415 - the same

    found = compared(_rendered(old, **options), _rendered(new, **options), counts_descriptions=all)
    return cast("Json", _copied(document(found)))


def inspect(path: Content, **options: Unpack[InspectKeywords]) -> Json:
    """The names, APIs, images and size of a bundle, as plain data; a bundle with defects is described, too.

    The members are those of `rukpakctl bundle inspect -o json`. The keywords are those of `render` for any bundle and
    for charts.
    """
    from rukpak_py.library.inspection import description  # noqa: PLC0415 - only here

    opened, chart = _opened(path, **options)
    return cast("Json", _copied(description(opened, chart)))


def _opened(  # with the defaults of InspectKeywords
    path: Content,
    *,
    format: AnyFormat | None = None,  # noqa: A002 - the name of the option everywhere
    limits: Limits | None = None,
    registries: bool = False,
    values: Json | Sequence[Json | str] = (),
    settings: Sequence[str] = (),
    release_name: str | None = None,
    kube_version: str | None = None,
    api_versions: Sequence[str] = (),
    helm: str | None = None,
) -> tuple[OpenedBundle, ChartOptions]:
    demand_several(values, "values")
    demand_several(settings, "settings")
    demand_several(api_versions, "api_versions")
    opened = open_bundle(path, format=format, limits=limits or DEFAULT_LIMITS, registries=registries)
    chart = ChartOptions(
        values=tuple(ChartValues(document=one) for one in ([values] if isinstance(values, Mapping) else values)),
        settings=tuple(settings),
        release_name=release_name,
        kube_version=kube_version,
        api_versions=tuple(api_versions),
        helm=helm,
    )
    if chart.are_chosen:
        opened.demand_chart()
    return opened, chart


def _rendered(  # with the defaults of RenderKeywords
    path: Content,
    *,
    install_namespace: str | None = None,
    watch_namespaces: Sequence[str] | None = None,
    certificates: AnyCertificates = "operator",
    parity: bool = False,
    deployment_config: Json | None = None,
    aggregated_roles: bool = False,
    **options: Unpack[InspectKeywords],
) -> tuple[OpenedBundle, Rendering]:
    if install_namespace is not None:
        demand_namespace(install_namespace, "install_namespace")
    if watch_namespaces is not None:
        demand_namespaces(watch_namespaces, "watch_namespaces")
    if parity and aggregated_roles:
        raise ValueError("aggregated_roles are ours: OLM's own renderer makes none, so parity has none")
    made_by = member(Certificates, certificates, "certificates")
    opened, chart = _opened(path, **options)
    if parity:
        opened = opened.in_parity(is_detected=options.get("format") is None)
    how = RenderOptions(
        install_namespace=install_namespace,
        watch_namespaces=None if watch_namespaces is None else tuple(watch_namespaces),
        certificates=made_by,
        deployment_config=deployment_config,
        aggregated_roles=aggregated_roles,
        limits=opened.limits,
    )
    return opened, opened.render(how, chart)


def _copied(value: Any) -> Any:
    """Objects of one rendering share parts. As loops: a frame for each level, and content may be some hundred deep."""
    if isinstance(value, dict):
        members = {}
        for key, inner in value.items():
            members[key] = _copied(inner)
        return members
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(_copied(item))  # noqa: PERF401 - see above
        return items
    return value
