"""`rukpakctl permissions`."""

import sys
from functools import partial

import click

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.documents import rules_document
from rukpak_py.apply.permissions.manifests import account_with_roles, name_for_missing, roles_for
from rukpak_py.cli.cluster.session import OperatorAt, operator_options
from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.reports import permissions as report
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines, print_warning, print_yaml


@click.command(epilog=epilog(failed="there is no such BundleDeployment, or its content is not rendered yet"))
@deployment_argument("deployment")
@operator_options("--namespace", "--system-namespace")
@click.option("--missing", is_flag=True, help="Only what the account lacks now.")
@output_option("text", "json", "yaml")
def permissions(*, deployment: str, missing: bool, output: str, **where: str) -> int:
    """Show the permissions that the account of a BundleDeployment needs.

    They are those for what its template asks for, and for what is installed. The operator says so: for users who may
    get the BundleDeployment, and impersonate its account.

    With -o yaml: the account, its roles and their bindings, and in mode narrow the operator's rights to watch what is
    installed, for `kubectl apply -f -`.
    """
    from rukpak_py.cli.cluster.needed_permissions import needed_permissions  # noqa: PLC0415 - other commands do not pay
    from rukpak_py.cli.cluster.session import with_cluster  # noqa: PLC0415 - the same

    found = with_cluster(OperatorAt(**where), partial(needed_permissions, deployment=deployment))
    rules, watched = (found.missing, found.unwatched) if missing else (found.rules, found.watched)
    if not found.is_complete:
        print_warning(
            f"more is needed once BundleDeployment {deployment} can read values and look objects up: ask again"
        )
    match output, found.account:
        case "yaml", None:
            print_warning(f"BundleDeployment {deployment} names no service account: the roles are bound to none")
            print_yaml(roles_for(rules, name=f"{deployment}-installer"))
        case "yaml", Account() as account if rules or watched:
            name = name_for_missing(deployment, rules, watched) if missing else f"{deployment}-installer"
            for namespace in sorted({*found.namespaces} & {*rules, *watched}):
                print_warning(f"the bundle brings Namespace {namespace}, which exists then: set spec.adopt: IfUnowned")
            print_yaml(account_with_roles(rules, name=name, account=account, watched=watched, operator=found.operator))
        case "yaml", _:
            pass
        case "json", account:
            about = account._asdict() if account is not None else None
            print_json({"account": about, "rules": rules_document(rules)})
        case _:
            print_lines(report.lines_of_needs(rules, Style(sys.stdout)))
    return Exit.OK
