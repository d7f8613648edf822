"""Rights that reach further than they look are called out; ordinary ones are not."""

import pytest

from rukpak_py.cli.rbac.dangers import DANGERS, alarms_of
from rukpak_py.cli.rbac.rights import Right, rights_of
from tests.unit.cli.objects import RBAC, rule


@pytest.mark.parametrize(
    ("right", "alarms"),
    [
        (Right("", "*", "*", "*"), ["everything"]),
        (Right("here", "get", "", "secrets"), ["secrets"]),
        (Right("here", "get", "", "secrets", "mine"), []),
        (Right("", "create", "", "pods/exec"), ["exec"]),
        (Right("", "get", "", "*/exec"), ["exec"]),
        (Right("", "bind", RBAC, "clusterroles", "admin"), ["bind"]),
        (Right("", "escalate", RBAC, "roles"), ["escalate"]),
        (Right("", "impersonate", "", "users", "boss"), ["impersonate"]),
        (Right("", "patch", "apps", "deployments"), ["workloads"]),
        (Right("", "*", "batch", "jobs"), ["wildcard", "workloads"]),
        (Right("", "get", "", "nodes/proxy"), ["nodes"]),
        (Right("", "create", "", "serviceaccounts/token"), ["tokens"]),
        (Right("", "patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations"), ["webhooks"]),
        (Right("", "update", "certificates.k8s.io", "certificatesigningrequests/approval"), ["certificates"]),
        (Right("", "patch", "", "namespaces"), ["namespaces"]),
        (Right("", "create", "", "persistentvolumes"), ["volumes"]),
        (Right("", "use", "security.openshift.io", "securitycontextconstraints", "privileged"), ["privileged"]),
        (Right("", "get", url="*"), ["wildcard"]),
        (Right("", "get", "", "pods"), []),
        (Right("", "get", "", "configmaps"), []),
        (Right("", "get", "example.com", "secrets"), []),
    ],
)
def test_what_stands_out(right: Right, alarms: list[str]) -> None:
    assert [alarm.id for alarm in alarms_of([right])] == alarms


def test_a_wildcard_is_called_out_with_what_it_reaches() -> None:
    alarms = alarms_of(rights_of([rule("get", "*")], ""))
    assert {alarm.id for alarm in alarms} >= {"wildcard", "secrets", "nodes", "exec"}


def test_scopes_are_told_apart() -> None:
    alarms = alarms_of([Right("", "get", "", "secrets"), Right("here", "get", "", "secrets")])
    assert [(alarm.scope, len(alarm.rights)) for alarm in alarms] == [("", 1), ("here", 1)]


def test_ids_are_unique() -> None:
    assert len({danger.id for danger in DANGERS}) == len(DANGERS)
