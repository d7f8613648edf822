"""Questions about the permissions of a client: as few as prove what is missing."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import orjson

from rukpak_py.apply.permissions.installer import GrantNeed, Needs
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.permissions.review import missing_permissions
from rukpak_py.apply.permissions.rules import Rules
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.errors import ErrorAnswer, NotFoundError
from rukpak_py.kube.resources import SELF_RULES_REVIEWS, Resource
from tests.unit.cli.objects import RBAC, rule

if TYPE_CHECKING:
    from rukpak_py.kube.client import Client


@dataclass
class Server:
    """An API server with roles and bindings of one client."""

    everywhere: list[dict[str, Any]] = field(default_factory=list)
    in_namespaces: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    roles: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    is_incomplete: bool = False
    asked: list[str] = field(default_factory=list)

    async def review(self, resource: Resource, body: bytes) -> bytes:
        spec = orjson.loads(body)["spec"]
        if resource == SELF_RULES_REVIEWS:
            self.asked.append(f"rules {spec['namespace']}")
            listed = [*self.everywhere, *self.in_namespaces.get(spec["namespace"], [])]
            found = [] if self.is_incomplete else listed
            return orjson.dumps({"status": {"resourceRules": found, "incomplete": self.is_incomplete}})
        asked = _asked(spec)
        self.asked.append(f"access {asked.verb} {asked.resource}")
        allowing = [*self.everywhere, *self.in_namespaces.get(asked.scope, [])]
        return orjson.dumps({"status": {"allowed": Rules(allowing).allow(asked)}})

    async def get(self, resource: Resource, _namespace: str, name: str) -> bytes:
        if name not in self.roles:
            raise NotFoundError(ErrorAnswer(subject=name, status=404, message="not found"))
        return canonical_json({"kind": resource.gvk.kind, "rules": self.roles[name]})

    async def missing(self, *permissions: Permission, grants: tuple[GrantNeed, ...] = ()) -> set[Permission]:
        needs = Needs(permissions=frozenset(permissions), grants=grants)
        return {*await missing_permissions(cast("Client", self), needs, namespace="apps")}


def _asked(spec: dict[str, Any]) -> Permission:
    if url := spec.get("nonResourceAttributes"):
        return Permission("", url["verb"], url=url["path"])
    about = spec["resourceAttributes"]
    resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
    return Permission(
        about.get("namespace", ""), about["verb"], about.get("group", ""), resource, about.get("name", "")
    )


HERE = Permission("apps", "get", "", "pods")
THERE = Permission("shop", "get", "", "pods")
CLUSTER = Permission("", "get", "", "pods")
BIND = Permission("", "bind", RBAC, "clusterroles", "theirs")
ESCALATE = Permission("", "escalate", RBAC, "clusterroles", "r")


async def test_permissions_in_a_namespace_are_one_question() -> None:
    server = Server(in_namespaces={"apps": [rule("get", "pods services")], "shop": [rule("list")]})
    assert await server.missing(HERE, Permission("apps", "get", "", "services"), THERE) == {THERE}
    assert sorted(server.asked) == ["rules apps", "rules shop"]


async def test_right_in_a_namespace_is_none_in_the_whole_cluster() -> None:
    """The rules in the namespace list it, so it is asked for."""
    server = Server(in_namespaces={"apps": [rule("get")]})
    assert await server.missing(CLUSTER) == {CLUSTER}
    assert server.asked == ["rules apps", "access get pods"]


async def test_permission_that_no_rule_lists_is_missing_in_the_whole_cluster_without_a_question() -> None:
    server = Server(everywhere=[rule("get", "services")])
    assert await server.missing(CLUSTER) == {CLUSTER}
    assert server.asked == ["rules apps"]


async def test_permission_in_the_whole_cluster_is_held() -> None:
    server = Server(everywhere=[rule("get")])
    assert await server.missing(CLUSTER, HERE) == set()


async def test_client_that_may_do_everything_is_asked_no_more() -> None:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    server = Server(everywhere=[everything, {"verbs": ["*"], "nonResourceURLs": ["*"]}])
    assert await server.missing(CLUSTER, THERE, grants=(GrantNeed(instead=BIND, held=None),)) == set()
    assert len(server.asked) == 3


async def test_where_the_server_cannot_list_rules_each_permission_is_a_question() -> None:
    server = Server(everywhere=[rule("get")], is_incomplete=True)
    assert await server.missing(HERE, Permission("apps", "list", "", "pods")) == {
        Permission("apps", "list", "", "pods")
    }
    assert "access get pods" in server.asked


async def test_role_is_written_by_holding_what_it_grants() -> None:
    need = GrantNeed(instead=ESCALATE, held=frozenset({CLUSTER}))
    assert await Server(everywhere=[rule("get")]).missing(grants=(need,)) == set()
    assert await Server().missing(grants=(need,)) == {CLUSTER}


async def test_role_is_written_by_the_permission_to_escalate() -> None:
    need = GrantNeed(instead=ESCALATE, held=frozenset({CLUSTER}))
    server = Server(everywhere=[rule("escalate", "clusterroles", group=RBAC, names=["r"])])
    assert await server.missing(grants=(need,)) == set()


async def test_role_of_the_cluster_is_bound_by_the_permission_to_bind() -> None:
    need = GrantNeed(instead=BIND, held=None)
    assert await Server().missing(grants=(need,)) == {BIND}
    server = Server(everywhere=[rule("bind", "clusterroles", group=RBAC)])
    assert await server.missing(grants=(need,)) == set()


async def test_role_of_the_cluster_that_the_client_may_read_is_bound_by_holding_what_it_allows() -> None:
    need = GrantNeed(instead=BIND, held=None)
    reads = rule("get", "clusterroles", group=RBAC)
    assert (
        await Server(everywhere=[reads, rule("get")], roles={"theirs": [rule("get")]}).missing(grants=(need,)) == set()
    )
    assert await Server(everywhere=[reads], roles={"theirs": [rule("get")]}).missing(grants=(need,)) == {CLUSTER}
    assert await Server(everywhere=[reads]).missing(grants=(need,)) == {BIND}
