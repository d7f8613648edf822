"""The whole check: what is there decides what is judged."""

from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import OPERATOR_DEPLOYMENT, OPERATOR_PART, PART_OF_LABEL
from rukpak_py.api.policies.installation import Installation
from rukpak_py.cli.checks.before import check_before
from rukpak_py.cli.checks.deployments import check_deployments
from rukpak_py.cli.checks.facts import AfterFacts
from rukpak_py.cli.checks.operator import check_operator, check_policies
from rukpak_py.cli.checks.read_after import read_after
from rukpak_py.cli.checks.read_before import read_before
from rukpak_py.cli.checks.read_server import read_server
from rukpak_py.cli.checks.reader import Reader
from rukpak_py.cli.checks.results import Check, CheckResult, Section, Seen, Unread
from rukpak_py.cli.checks.rights import check_rights
from rukpak_py.cli.checks.server import check_server
from rukpak_py.cli.checks.webhook import check_webhook
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.resources import DEPLOYMENTS

_FOUND = Check(Section.OPERATOR, "deployment")


async def check(client: Client, *, system_namespace: str, mode: Mode, before: bool) -> list[CheckResult]:
    """`mode`: of an installation that is to come; one that is there says its own. `before`: whatever is there."""
    reader, discovery = Reader(client), Discovery(client)
    server = await read_server(client, discovery)
    deployment = await reader.read(DEPLOYMENTS, system_namespace, OPERATOR_DEPLOYMENT)
    if not before and (isinstance(deployment, Unread) or is_operator(deployment)):
        return after(await read_after(reader, discovery, server, system_namespace, deployment))
    installation = Installation(system_namespace=system_namespace, mode=mode)
    found = list(check_before(await read_before(reader, discovery, server, installation)))
    if not before:
        text = f"no operator is installed in namespace {system_namespace}: checked whether it can be"
        found.append(_FOUND.ok(text))
    return found


def is_operator(deployment: Seen) -> bool:
    """The original had a Deployment of this name, too, without our label."""
    labels = (deployment.get("metadata") or {}).get("labels") or {} if isinstance(deployment, dict) else {}
    return labels.get(PART_OF_LABEL) == OPERATOR_PART


def after(facts: AfterFacts) -> list[CheckResult]:
    return [
        *check_server(facts.server),
        *check_operator(facts),
        *check_policies(facts),
        *check_rights(facts),
        *check_webhook(facts),
        *check_deployments(facts),
    ]
