"""`rukpakctl catalog install`."""

import click

from rukpak_py.api.upgrades import Approval
from rukpak_py.cli.catalogs.flags import catalog_option, catalog_options, load_options
from rukpak_py.cli.catalogs.version_ranges import range_option
from rukpak_py.cli.namespace_names import namespace_name, namespace_names
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import epilog


@click.command(
    epilog=epilog(
        no="the catalog has no such bundle or no image of it, or another client manages the BundleDeployment",
        failed="a catalog or a digest cannot be read, or the cluster refused",
    )
)
@click.argument("package")
@catalog_option
@click.option("--channel", metavar="CHANNEL", help="Default: that of the BundleDeployment, else the default channel.")
@click.option(
    "--version-range",
    callback=range_option,
    metavar="RANGE",
    help='Versions that are wanted, such as ">=1.2.0 <2.0.0".',
)
@click.option(
    "--from",
    "installed",
    metavar="VERSION|BUNDLE",
    help="What is installed. Default with --apply: what the cluster has.",
)
@click.option("--name", metavar="NAME", help="Name of the BundleDeployment. Default: the package.")
@click.option(
    "--install-namespace",
    default="",
    callback=namespace_name,
    metavar="NAMESPACE",
    help="Default: the bundle chooses.",
)
@click.option("--create-namespace", is_flag=True, help="Create that namespace where it is missing.")
@click.option(
    "--watch-namespace",
    "watch_namespaces",
    multiple=True,
    callback=namespace_names,
    metavar="NAMESPACE",
    help="A namespace that the operator watches, '' is all of them; may be repeated. Default: the bundle chooses.",
)
@click.option("--service-account", default="", metavar="NAME", help="Install with the rights of this account.")
@click.option("--pull-secret", default="", metavar="NAME", help="A Secret of the system namespace with a login.")
@click.option(
    "--approval", type=click.Choice([one.value for one in Approval]), help="When later upgrades begin by themselves."
)
@click.option("--allow-tag", is_flag=True, help="Take an image by its tag, and do not ask for its digest.")
@click.option("--apply", "applies", is_flag=True, help="Create the BundleDeployment, or upgrade it.")
@click.option("--dry-run", is_flag=True, help="With --apply: print the change, and make none.")
@click.option("--force", is_flag=True, help="With --apply: also where another client manages what changes.")
@output_option("yaml", "json")
@catalog_options
def install(
    *,
    package: str,
    catalog: str,
    channel: str | None,
    version_range: str | None,
    installed: str | None,
    name: str | None,
    install_namespace: str,
    create_namespace: bool,
    watch_namespaces: tuple[str, ...],
    service_account: str,
    pull_secret: str,
    approval: str | None,
    allow_tag: bool,
    applies: bool,
    dry_run: bool,
    force: bool,
    output: str,
    no_cache: bool,
    jobs: int | None,
) -> int:
    """Print the BundleDeployment that installs a package, or apply it.

    The bundle is chosen as `rukpakctl catalog resolve` does. Its image is named by digest; where the catalog has a tag,
    the registry is asked, with your logins. Deprecations and missing dependencies are warnings.

    With --apply a BundleDeployment that has the package is upgraded, one step along the edges of the upgrade graph.
    Only the image and the annotations core.rukpak.io/catalog-* change. Where Flux, Argo CD or another client owns them,
    they would be set again: the command prints the change for Git, and makes none without --force.

    --apply needs get, create and patch on bundledeployments, or on bundleinstances where one owns the BundleDeployment.
    """
    from rukpak_py.cli.catalogs.installing import InstallFields, is_deployment_name  # noqa: PLC0415 - help: not needed
    from rukpak_py.cli.catalogs.resolving import packages_of  # noqa: PLC0415 - the same
    from rukpak_py.cli.installation import InstallQuestion, apply, print_manifest  # noqa: PLC0415 - the same

    if (dry_run or force) and not applies:
        raise click.UsageError("--dry-run and --force need --apply")
    deployment = name or package
    if not is_deployment_name(deployment):
        raise click.UsageError(f'"{deployment}" is not a valid name of a BundleDeployment: choose one with --name')
    if "" in watch_namespaces and set(watch_namespaces) != {""}:
        raise click.UsageError("--watch-namespace '' is all namespaces: give it alone, or the namespaces without it")
    options = load_options(no_cache=no_cache, jobs=jobs, is_slim=not watch_namespaces)  # install modes are metadata
    question = InstallQuestion(
        packages=packages_of(catalog, options),
        package=package,
        channel=channel,
        version_range=version_range,
        installed=installed,
        name=deployment,
        fields=InstallFields(
            install_namespace=install_namespace,
            create_namespace=create_namespace,
            watch_namespaces=watch_namespaces,
            service_account=service_account,
            pull_secret=pull_secret,
            approval=approval or "",
        ),
        allow_tag=allow_tag,
        output=output,
        limits=options.limits,
    )
    return apply(question, dry_run=dry_run, force=force) if applies else print_manifest(question)
