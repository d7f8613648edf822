"""Rights of an operator in mode narrow, as the chart renders them, and those of accounts and of what is watched.

The chart's names are fixed, and several operators share a control plane in the end: what is not in a namespace of the
test has the test's mark in its name.
"""

import asyncio
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
import yaml

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import SERVICE_ACCOUNTS, Resource
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document, service_account
from tools import chart

RBAC = "rbac.authorization.k8s.io"
ACCOUNT = "core-admin"
WATCH_LABEL = "rbac.core.rukpak.io/aggregate-to-watch"
KUBERNETES_ROLE = "extension-apiserver-authentication-reader"
WATCH = ["get", "list", "watch"]
WRITE = ["get", "list", "create", "patch", "delete"]
Rule = Mapping[str, Sequence[str]]


def _resource(kind: str, *, namespaced: bool) -> Resource:
    plural = f"{kind.lower()}s"
    return Resource(gvk=GroupVersionKind(RBAC, "v1", kind), plural=plural, namespaced=namespaced)


ROLES = _resource("Role", namespaced=True)
ROLE_BINDINGS = _resource("RoleBinding", namespaced=True)
CLUSTER_ROLES = _resource("ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = _resource("ClusterRoleBinding", namespaced=False)
KINDS = {one.gvk.kind: one for one in (ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)}


def rule(group: str, *resources: str, verbs: Sequence[str] = WATCH) -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


async def rendered(helm: HelmProgram, namespace: str, **values: object) -> list[Document]:
    """Objects of the chart, installed into this namespace."""
    command = [helm.path, "template", "rukpak", str(chart.CHART), f"--namespace={namespace}"]
    settings = [f"--set-json={name}={orjson.dumps(value).decode()}" for name, value in values.items()]

    def run() -> str:
        flags = [f"--kube-version={chart.OLDEST_KUBERNETES}", *settings]
        return subprocess.run([*command, *flags], check=True, capture_output=True, text=True).stdout

    return [one for one in yaml.safe_load_all(await asyncio.to_thread(run)) if one]


class Rights:
    """Roles and bindings of one test."""

    def __init__(self, admin: Client, tenant: Tenant, helm: HelmProgram) -> None:
        self._admin = admin
        self._helm = helm
        self._system = tenant.system
        self._mark = tenant.name
        self._written: dict[tuple[Resource, str, str], None] = {}

    @property
    def operator(self) -> str:
        return f"system:serviceaccount:{self._system}:{ACCOUNT}"

    async def of_chart(self, accounts: Mapping[str, Sequence[str]]) -> None:
        """The operator has what the chart says. `accounts`: that it may impersonate, by namespace."""
        tenants = [{"namespace": namespace, "serviceAccounts": names} for namespace, names in accounts.items()]
        for one in await rendered(self._helm, self._system, mode="narrow", tenants=tenants):
            if one["kind"] in KINDS:
                await self._write(KINDS[one["kind"]], self._marked(one))

    async def watched(self, name: str, *rules: Rule, namespace: str = "") -> None:
        """The operator sees more kinds: by its aggregated role, or in one namespace."""
        if not namespace:
            await self._role(f"{self._mark}-{name}", "", rules, labels={WATCH_LABEL: "true"})
            return
        await self._role(name, namespace, rules)
        await self._bind(name, namespace, self._system, ACCOUNT)

    async def unwatched(self, name: str, *, namespace: str = "") -> None:
        resource = ROLES if namespace else CLUSTER_ROLES
        await self._admin.delete(resource, namespace, name if namespace else f"{self._mark}-{name}")

    async def account(self, namespace: str, name: str, rules: Iterable[Rule], *, cluster: Iterable[Rule] = ()) -> None:
        """An account with these rights in its namespace, and in the cluster."""
        await self._write(SERVICE_ACCOUNTS, service_account(name, namespace))
        await self.allowed(namespace, (namespace, name), rules)
        cluster = list(cluster)
        if cluster:
            role = f"{self._mark}-{namespace}-{name}"
            await self._role(role, "", cluster)
            await self._bind(role, "", namespace, name)

    async def allowed(self, namespace: str, account: tuple[str, str], rules: Iterable[Rule]) -> None:
        name = "-".join(account)
        await self._role(name, namespace, rules)
        await self._bind(name, namespace, *account)

    async def end(self) -> None:
        for resource, namespace, name in reversed(self._written):
            with suppress(NotFoundError):
                await self._admin.delete(resource, namespace, name)

    def _marked(self, one: Document) -> Document:
        def marked(name: str) -> str:
            return f"{name}-{self._mark}" if name != KUBERNETES_ROLE else name

        found = {**one, "metadata": {**one["metadata"], "name": marked(one["metadata"]["name"])}}
        if "roleRef" in one:
            found["roleRef"] = {**one["roleRef"], "name": marked(one["roleRef"]["name"])}
        return found

    async def _role(self, name: str, namespace: str, rules: Iterable[Rule], **metadata: Any) -> None:
        resource = ROLES if namespace else CLUSTER_ROLES
        await self._write(
            resource, {"metadata": {"name": name, "namespace": namespace, **metadata}, "rules": list(rules)}
        )

    async def _bind(self, role: str, namespace: str, of: str, account: str) -> None:
        resource = ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS
        kind = (ROLES if namespace else CLUSTER_ROLES).gvk.kind
        body = {
            "metadata": {"name": role, "namespace": namespace},
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": of}],
        }
        await self._write(resource, body)

    async def _write(self, resource: Resource, body: Document) -> None:
        metadata = {key: value for key, value in body["metadata"].items() if value}
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        self._written[resource, namespace, name] = None
        document = {**body, "apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, "metadata": metadata}
        await self._admin.apply(resource, namespace, name, orjson.dumps(document), field_manager="tests", force=True)
