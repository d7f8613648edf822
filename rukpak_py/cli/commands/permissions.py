"""`rukpakctl bundle permissions`."""

import sys
from typing import Any

import click

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.apply.permissions.grants import grants_of
from rukpak_py.apply.permissions.installer import manifests_of, needs_of
from rukpak_py.cli.render_flags import output_option, path_argument, render_flags_of, rendering_options
from rukpak_py.cli.reports import permissions as report
from rukpak_py.cli.terminal import Style, epilog, print_json, print_lines, print_warning, print_yaml

_NO_NAMES = {"", ".", ".."}


def _service_account(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    from rukpak_py.formats.registry_v1 import dns  # noqa: PLC0415 - most commands do not need it

    if given is not None:
        namespace, slash, name = given.rpartition("/")
        if dns.subdomain(name) or (slash and dns.label(namespace)):
            raise click.BadParameter(f"{given!r} is not a service account: write [NAMESPACE/]NAME")
    return given


def _role_name(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    """RBAC takes more than other kinds, `system:node` for one; blanks are legal there, and a slip of the keyboard."""
    if given is not None and (given in _NO_NAMES or any(one in "/%" or one.isspace() for one in given)):
        raise click.BadParameter(f"{given!r} is not a valid role name: no blanks, no / and no %")
    return given


@click.command(epilog=epilog(failed="the bundle cannot be read or rendered"))
@path_argument
@rendering_options
@click.option(
    "--escalate",
    is_flag=True,
    help="The installer may write and bind the bundle's roles without their permissions (verbs escalate and bind).",
)
@click.option(
    "--name", callback=_role_name, help="With -o yaml: the roles' name. Default: <install namespace>-installer."
)
@click.option(
    "--service-account",
    callback=_service_account,
    metavar="[NAMESPACE/]NAME",
    help="With -o yaml: bind them to this account, too.",
)
@output_option("text", "json", "yaml")
def permissions(
    *,
    path: str,
    output: str,
    escalate: bool,
    name: str | None,
    service_account: str | None,
    **chosen: Any,
) -> None:
    """Show the permissions that a bundle grants and needs.

    Lists what it grants to whom, what of it is risky, and which permissions its installer needs.

    With -o yaml: the roles for the installer, ready to be applied.
    """
    if output != "yaml":
        for option in [*(["--name"] if name else []), *(["--service-account"] if service_account else [])]:
            print_warning(f"{option} has an effect with -o yaml only")
    rendering = render_flags_of(chosen).rendered(path)
    namespace = rendering.install_namespace or DEFAULT_SYSTEM_NAMESPACE
    needs = needs_of(rendering.all, install_namespace=namespace, escalate=escalate)
    match output:
        case "yaml":
            role = name or f"{namespace}-installer"
            print_yaml(manifests_of(needs, name=role, account=_account(service_account, namespace)))
        case "json":
            print_json(report.document(grants_of(rendering.all), needs))
        case _:
            print_lines(report.lines_of(grants_of(rendering.all), needs, Style(sys.stdout)))


def _account(given: str | None, install_namespace: str) -> tuple[str, str] | None:
    if given is None:
        return None
    namespace, _, name = given.rpartition("/")
    return namespace or install_namespace, name
