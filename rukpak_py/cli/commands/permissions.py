"""`rukpakctl bundle permissions`."""

import sys
from typing import Any

import click

from rukpak_py.api.accounts import Account
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE, OPERATOR_ACCOUNT
from rukpak_py.apply.permissions.documents import permissions_document
from rukpak_py.apply.permissions.grants import grants_of
from rukpak_py.apply.permissions.installer import needs_of, rules_by_scope
from rukpak_py.apply.permissions.manifests import account_with_roles, brought_namespaces, roles_for
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.render_flags import path_argument, render_flags_of, rendering_options
from rukpak_py.cli.reports import permissions as report
from rukpak_py.cli.terminal import Style, epilog, print_json, print_lines, print_warning, print_yaml
from rukpak_py.formats.detection import FormatName
from rukpak_py.library import OpenedBundle

_NO_NAMES = {"", ".", ".."}


def _service_account(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    from rukpak_py.formats import dns  # noqa: PLC0415 - most commands do not need it

    if given is not None:
        namespace, slash, name = given.rpartition("/")
        if dns.subdomain(name) or (slash and dns.label(namespace)):
            raise click.BadParameter(f"{given!r} is not a service account: write [NAMESPACE/]NAME")
    return given


def _operator_account(_context: click.Context, _option: click.Parameter, given: str) -> Account:
    from rukpak_py.formats import dns  # noqa: PLC0415 - most commands do not need it

    namespace, _, name = given.rpartition("/")
    if dns.label(namespace) or dns.subdomain(name):
        raise click.BadParameter(f"{given!r} is not a service account: write NAMESPACE/NAME")
    return Account(namespace, name)


def _warn_about_lookups(chart: OpenedBundle) -> None:
    from rukpak_py.formats.helm.rules import LOOKUPS  # noqa: PLC0415 - other formats do not pay for it

    if any(finding.rule == LOOKUPS for finding in chart.warnings()):
        print_warning(
            "templates of the chart look objects up in the cluster; what is needed for that is known once there is a "
            "BundleDeployment: rukpakctl permissions NAME -o yaml"
        )


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
    help="With -o yaml: print this account, too, and bind them to it. Its namespace is the default install namespace.",
)
@click.option(
    "--operator-account",
    callback=_operator_account,
    default=str(Account(DEFAULT_SYSTEM_NAMESPACE, OPERATOR_ACCOUNT)),
    show_default=True,
    metavar="NAMESPACE/NAME",
    help="With --service-account: the operator's own account, which gets the rights to watch what is installed.",
)
@output_option("text", "json", "yaml")
def permissions(
    *,
    path: str,
    output: str,
    escalate: bool,
    name: str | None,
    service_account: str | None,
    operator_account: Account,
    **chosen: Any,
) -> None:
    """Show the permissions that a bundle grants and needs.

    Lists what it grants to whom, what of it is risky, and which permissions its installer needs.

    With -o yaml: the roles for the installer, ready to be applied. With --service-account it is all that a
    BundleDeployment with this account needs, with the rights by which an operator in mode narrow watches what is
    installed: `rukpakctl bundle permissions PATH --service-account NS/NAME -o yaml | kubectl apply -f -`.
    """
    if output != "yaml":
        for option in [*(["--name"] if name else []), *(["--service-account"] if service_account else [])]:
            print_warning(f"{option} has an effect with -o yaml only")
    account_namespace = (service_account or "").rpartition("/")[0]
    chosen["install_namespace"] = chosen["install_namespace"] or account_namespace or None
    how = render_flags_of(chosen)
    opened = how.opened(path)
    rendering = how.render(opened)
    namespace = rendering.install_namespace or chosen["install_namespace"] or DEFAULT_SYSTEM_NAMESPACE
    needs = needs_of(
        rendering.objects,
        hooks=rendering.hooks,
        install_namespace=namespace,
        looks_for_olm=opened.format is FormatName.REGISTRY,
        escalate=escalate,
    )
    match output:
        case "yaml":
            role = name or f"{namespace}-installer"
            if service_account is None:
                print_yaml(roles_for(needs.rules, name=role))
                return
            if opened.format is FormatName.HELM:
                _warn_about_lookups(opened)
            brought = brought_namespaces(rendering.objects)
            for one in sorted(brought):
                print_warning(f"the bundle brings Namespace {one}, which exists then: set spec.adopt: IfUnowned")
            account = Account(account_namespace or namespace, service_account.rpartition("/")[2])
            watched = rules_by_scope(needs.watched)
            print_yaml(
                account_with_roles(needs.rules, name=role, account=account, watched=watched, operator=operator_account)
            )
        case "json":
            print_json(permissions_document(grants_of(rendering.all), needs))
        case _:
            print_lines(report.lines_of(grants_of(rendering.all), needs, Style(sys.stdout)))
