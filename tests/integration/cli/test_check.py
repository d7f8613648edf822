"""`rukpakctl check` on a real API server: a sound installation passes, and what is broken is found and named."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import (
    OPERATOR_ACCOUNT,
    OPERATOR_DEPLOYMENT,
    OPERATOR_LEASE,
    PLAIN_CLASS,
    WATCH_ROLE_LABEL,
    WEBHOOK_CONFIGURATION,
    SecretName,
)
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.cli.checks.check import check
from rukpak_py.cli.checks.results import CheckResult, Level
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    BUNDLE_DEPLOYMENTS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CRDS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    LEASES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from tests.integration.cli.installation import Installed, installed
from tests.unit.cli.running import program
from tests.waiting import eventually

OK, WARNING, ERROR = Level.OK, Level.WARNING, Level.ERROR
RBAC = "rbac.authorization.k8s.io"
DEPLOYMENT_CRD = "bundledeployments.core.rukpak.io"
USER = "nosy"
Break = Callable[[Installed], Awaitable[None]]


@pytest.fixture
async def classic(admin: Client, helm: HelmProgram, namespace_there: str) -> AsyncIterator[Installed]:
    async with installed(admin, helm, namespace_there) as found:
        yield found


@pytest.fixture
async def narrow(admin: Client, helm: HelmProgram, namespace_there: str) -> AsyncIterator[Installed]:
    tenants = [{"namespace": namespace_there, "serviceAccounts": ["default"]}]
    async with installed(admin, helm, namespace_there, mode="narrow", tenants=tenants) as found:
        yield found


async def before(client: Client, namespace: str, mode: Mode = Mode.CLASSIC) -> list[CheckResult]:
    return await check(client, system_namespace=namespace, mode=mode, before=True)


def levels(results: list[CheckResult]) -> dict[str, set[Level]]:
    found: dict[str, set[Level]] = {}
    for one in results:
        found.setdefault(one.check, set()).add(one.level)
    return found


def removed(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def replaced(path: str, value: object) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


async def may(installation: Installed, *rules: dict[str, Any]) -> Client:
    """A client of a user with these rights, and no others."""
    await installation.write(CLUSTER_ROLES, "", {"metadata": {"name": USER}, "rules": list(rules)})
    await bind(installation, USER, USER, {"kind": "User", "name": USER, "apiGroup": RBAC})
    return installation.admin.acting_as(USER)


async def bind(installation: Installed, name: str, role: str, subject: dict[str, Any]) -> None:
    body = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }
    await installation.write(CLUSTER_ROLE_BINDINGS, "", body)


@pytest.fixture(autouse=True)
async def no_rights_left(admin: Client) -> AsyncIterator[None]:
    yield
    for resource in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
        for name in (USER, "left-of-classic", "watch-too-much"):
            for one in (await admin.list_metadata(resource, field_selector=f"metadata.name={name}")).items:
                await admin.delete(resource, "", one.key.name)


@pytest.mark.parametrize("mode", Mode)
async def test_cluster_without_an_operator_can_take_one(admin: Client, namespace_there: str, mode: Mode) -> None:
    found = await check(admin, system_namespace=namespace_there, mode=mode, before=False)
    foreign = {"crds"}  # the CRDs of the plane have no label of an installation
    assert [one for one in found if one.level is not OK and one.check not in foreign] == []
    assert levels(found)["may-install"] == levels(found)["policies-accepted"] == {OK}
    assert "no operator is installed" in found[-1].message


async def test_user_without_rights_learns_what_is_missing_before_an_installation(
    admin: Client, namespace_there: str
) -> None:
    wide = await before(admin.acting_as(USER), namespace_there)
    assert "every verb every resource" in " ".join(one.message for one in wide if one.check == "may-install")
    found = await before(admin.acting_as(USER), namespace_there, Mode.NARROW)
    assert levels(found)["may-install"] == {ERROR}
    lacking = " ".join(one.message for one in found if one.check == "may-install")
    for words in ("clusterroles", "deployments (apps)", "validatingadmissionpolicies", "secrets"):
        assert words in lacking
    unchecked = {name for name, of_check in levels(found).items() if of_check == {WARNING}}
    assert {"policies-accepted", "crds", "leftovers", "other-operators"} <= unchecked


async def test_leftovers_of_a_release_are_named_before_an_installation(classic: Installed) -> None:
    """The objects of the fixture have no marks of Helm."""
    found = await before(classic.admin, "elsewhere")
    (left,) = [one for one in found if one.check == "leftovers" and one.level is WARNING and not one.object]
    assert "core-admin" in left.message
    (other,) = [one for one in found if one.check == "other-operators"]
    assert (other.level, other.object) == (ERROR, f"Deployment.apps/{classic.namespace}/{OPERATOR_DEPLOYMENT}")
    again = await before(classic.admin, classic.namespace)
    assert levels(again)["other-operators"] == {OK}, "an operator is not in the way of its own upgrade"


async def test_sound_installation_passes_in_mode_classic_until_its_certificate_is_gone(classic: Installed) -> None:
    assert await classic.wrong() == []
    await classic.admin.delete(SECRETS, classic.namespace, SecretName.SERVING)
    assert levels(await classic.wrong()) == {"webhook-trust": {ERROR}, "serving-certificate": {ERROR}}


async def test_sound_installation_passes_in_mode_narrow(narrow: Installed) -> None:
    assert await narrow.wrong() == []


async def policy_is_removed(installation: Installed) -> None:
    await installation.admin.delete(ADMISSION_POLICIES, "", "rukpak-accounts")


async def field_of_a_policy_is_edited(installation: Installed) -> None:
    change = replaced("/spec/failurePolicy", "Ignore")
    await installation.change(ADMISSION_POLICIES, "", "rukpak-operator-only", change)


async def binding_only_warns(installation: Installed) -> None:
    change = replaced("/spec/validationActions", ["Warn"])
    await installation.change(ADMISSION_POLICY_BINDINGS, "", "rukpak-accounts", change)


async def crd_is_of_an_older_schema(installation: Installed) -> None:
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/lastHandledReconcileAt"
    await installation.change(CRDS, "", DEPLOYMENT_CRD, removed(path))


async def certificate_expired(installation: Installed) -> None:
    await installation.serve(issued=datetime.now(UTC) - timedelta(days=100))


async def another_authority_is_trusted(installation: Installed) -> None:
    path = "/webhooks/0/clientConfig/caBundle"
    await installation.serve()
    live = orjson.loads(await installation.admin.get(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION))
    former = live["webhooks"][0]["clientConfig"]["caBundle"]
    await installation.serve()
    await installation.change(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION, replaced(path, former))


async def webhook_is_missing(installation: Installed) -> None:
    await installation.admin.delete(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)


async def webhook_for_crds_is_missing(installation: Installed) -> None:
    await installation.change(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION, removed("/webhooks/2"))


async def webhook_is_another(installation: Installed) -> None:
    path = "/webhooks/0/clientConfig/service/namespace"
    await installation.change(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION, replaced(path, "other"))


async def endpoints_are_gone(installation: Installed) -> None:
    await installation.admin.delete(ENDPOINT_SLICES, installation.namespace, "webhook")


async def service_is_gone(installation: Installed) -> None:
    await installation.admin.delete(SERVICES, installation.namespace, "rukpak-webhook-service")


async def lease_is_old(installation: Installed) -> None:
    await installation.lead(renewed=datetime.now(UTC) - timedelta(minutes=10))


async def lease_is_gone(installation: Installed) -> None:
    await installation.admin.delete(LEASES, installation.namespace, OPERATOR_LEASE)


async def image_is_another(installation: Installed) -> None:
    """Its pod gets ready, too."""
    path = "/spec/template/spec/containers/0/image"
    await installation.change(DEPLOYMENTS, installation.namespace, OPERATOR_DEPLOYMENT, replaced(path, "operator:v9"))

    async def is_rolled_out() -> bool:
        await installation.be_ready()
        live = orjson.loads(await installation.admin.get(DEPLOYMENTS, installation.namespace, OPERATOR_DEPLOYMENT))
        return bool(live["status"]["observedGeneration"] == live["metadata"]["generation"])

    await eventually(is_rolled_out, what="the other image is rolled out")


async def right_of_the_operator_is_taken(installation: Installed) -> None:
    await installation.admin.delete(CLUSTER_ROLE_BINDINGS, "", OPERATOR_ACCOUNT)


async def deployment_names_an_account_that_is_gone(installation: Installed) -> None:
    source = {"type": "image", "image": {"ref": "localhost/hello:v1"}}
    content = {"provisionerClassName": PLAIN_CLASS, "source": source}
    spec = {
        "provisionerClassName": "example-com-another",  # no operator, and no finding about its conditions
        "template": {"spec": content},
        "installNamespace": installation.namespace,
        "serviceAccountName": "gone",
    }
    name = f"check-{installation.namespace[-6:]}"
    await installation.write(BUNDLE_DEPLOYMENTS, "", {"metadata": {"name": name}, "spec": spec})


BROKEN: dict[str, dict[Break, dict[str, Level]]] = {  # what goes together, because an installation takes its time
    "changed": {
        field_of_a_policy_is_edited: {"policies": ERROR},
        binding_only_warns: {"policies": ERROR},
        crd_is_of_an_older_schema: {"crds": ERROR},
        certificate_expired: {"serving-certificate": ERROR},
        endpoints_are_gone: {"webhook-service": ERROR},
        lease_is_old: {"lease": ERROR},
    },
    "removed": {
        policy_is_removed: {"policies": ERROR},
        webhook_is_missing: {"webhook-configuration": ERROR},
        service_is_gone: {"webhook-service": ERROR},
        lease_is_gone: {"lease": ERROR},
        right_of_the_operator_is_taken: {"operator-rights": ERROR},
    },
    "replaced": {
        another_authority_is_trusted: {"webhook-trust": ERROR},
        image_is_another: {"version": WARNING},
        webhook_for_crds_is_missing: {"webhook-for-crds": WARNING},
    },
    "misled": {webhook_is_another: {"webhook-configuration": ERROR}},
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_all_that_is_broken_is_found_at_once(classic: Installed, broken: dict[Break, dict[str, Level]]) -> None:
    expected: dict[str, Level] = {}
    for breaks, found in broken.items():
        await breaks(classic)
        expected |= found
    await eventually_wrong(classic, expected)


async def eventually_wrong(installation: Installed, expected: dict[str, Level]) -> None:
    """RBAC and the informers of the API server follow a change within a moment."""

    async def look() -> bool:
        if "lease" not in expected:
            await installation.lead()
        return levels(await installation.wrong()) == {check: {level} for check, level in expected.items()}

    await eventually(look, what=f"the findings are {expected}", seconds=30.0)


async def test_account_that_is_gone_is_found_and_its_deployment_named(classic: Installed) -> None:
    await deployment_names_an_account_that_is_gone(classic)
    try:
        (found,) = await classic.wrong()
    finally:
        await classic.admin.delete(BUNDLE_DEPLOYMENTS, "", f"check-{classic.namespace[-6:]}")
    assert (found.check, found.level) == ("accounts", ERROR)
    assert found.object == f"ServiceAccount {classic.namespace}/gone"
    assert f"check-{classic.namespace[-6:]}" in found.message


async def role_to_watch_may_write(installation: Installed) -> None:
    rule = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch", "patch"]}
    metadata = {"name": "watch-too-much", "labels": {WATCH_ROLE_LABEL: "true"}}
    await installation.write(CLUSTER_ROLES, "", {"metadata": metadata, "rules": [rule]})


async def binding_of_classic_is_left(installation: Installed) -> None:
    account = {"kind": "ServiceAccount", "name": OPERATOR_ACCOUNT, "namespace": installation.namespace}
    await bind(installation, "left-of-classic", "cluster-admin", account)


async def rule_of_the_operator_is_taken(installation: Installed) -> None:
    await installation.change(CLUSTER_ROLES, "", OPERATOR_ACCOUNT, removed("/rules/0"))


async def test_all_that_is_broken_in_mode_narrow_is_found_at_once(narrow: Installed) -> None:
    await role_to_watch_may_write(narrow)
    await rule_of_the_operator_is_taken(narrow)
    await eventually_wrong(narrow, {"watch-roles": ERROR, "operator-rights": ERROR})
    await binding_of_classic_is_left(narrow)  # which has every right
    await eventually_wrong(narrow, {"watch-roles": ERROR, "operator-is-narrow": ERROR})


async def test_kinds_that_the_operator_may_not_watch_are_named_with_their_deployment(narrow: Installed) -> None:
    await deployment_names_an_account_that_is_gone(narrow)
    name = f"check-{narrow.namespace[-6:]}"
    kinds = [
        {"group": "", "version": "v1", "kind": "Secret", "namespaces": [narrow.namespace, "elsewhere"]},
        {"group": "apps", "version": "v1", "kind": "Deployment"},
    ]
    await narrow.admin.patch_status(BUNDLE_DEPLOYMENTS, "", name, orjson.dumps({"status": {"kinds": kinds}}))
    try:
        found = await narrow.wrong()
    finally:
        await narrow.admin.delete(BUNDLE_DEPLOYMENTS, "", name)
    held_back = {one.object: one for one in found if one.check == "watched-kinds"}
    assert held_back.keys() == {"Secret in namespace elsewhere", "Deployment.apps"}  # it may, in its own namespace
    assert all(one.level is ERROR and name in one.message for one in held_back.values())
    assert WATCH_ROLE_LABEL in held_back["Deployment.apps"].hint
    assert {one.check for one in found} == {"watched-kinds", "accounts", "impersonation"}


async def test_default_account_that_is_gone_is_found(admin: Client, helm: HelmProgram, namespace_there: str) -> None:
    async with installed(admin, helm, namespace_there, defaultServiceAccount="installer") as installation:
        (found,) = await installation.wrong()
        assert (found.check, found.level) == ("default-account", ERROR)
        await installation.write(SERVICE_ACCOUNTS, namespace_there, {"metadata": {"name": "installer"}})
        assert await installation.wrong() == []


async def test_facts_that_a_user_may_not_read_are_warnings_and_never_pass(classic: Installed) -> None:
    client = await may(classic)

    async def look() -> list[CheckResult]:
        return await classic.results(client)

    found = await look()
    assert not [one for one in found if one.level is ERROR]
    passed = {one.check for one in found if one.level is OK}
    assert passed == {"kubernetes-version", "kinds-served"}
    unchecked = {one.check for one in found if one.level is WARNING}
    assert unchecked == {
        *("crds", "deployment", "lease", "policies", "operator-rights", "webhook-configuration", "webhook-service"),
        *("serving-certificate", "authority", "ready"),
    }


async def test_rights_are_read_from_roles_where_a_user_may_not_ask_for_reviews(narrow: Installed) -> None:
    reading = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
    client = await may(narrow, reading)

    async def passes() -> bool:
        found = await narrow.wrong(client)
        return levels(found) == {"policies-enforced": {WARNING}}  # a probe needs the right to create

    await eventually(passes, what="everything but the probe is read", seconds=30.0)
    await narrow.change(CLUSTER_ROLES, "", OPERATOR_ACCOUNT, removed("/rules/0"))
    assert levels(await narrow.wrong(client))["operator-rights"] == {ERROR}


async def test_program_prints_json_and_its_exit_status(classic: Installed, plane: ControlPlane) -> None:
    assert await run_program(classic, plane) == (0, 0, {"ok"})
    await lease_is_gone(classic)
    assert await run_program(classic, plane) == (1, 1, {"ok", "error"})


async def run_program(classic: Installed, plane: ControlPlane) -> tuple[int | None, int, set[str]]:
    """Exit status, errors and levels."""
    process = await asyncio.create_subprocess_exec(
        *(program(), "check", f"--namespace={classic.namespace}", "-o", "json"),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"KUBECONFIG": str(plane.kubeconfig)},
    )
    out, _ = await process.communicate()
    document = orjson.loads(out)
    return process.returncode, document["errors"], {one["level"] for one in document["results"]}
