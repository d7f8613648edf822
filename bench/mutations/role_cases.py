"""Mistakes in roles and their bindings."""

from bench.mutations.changes import Case, add, cases, drop, put, rename

_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
_ACCOUNT = {"kind": "ServiceAccount", "name": "a", "namespace": "b"}


def _rules(kind: str) -> tuple[Case, ...]:
    return (
        *cases(
            "wrong type",
            kind,
            {
                "rules mapping": put("rules", {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}),
                "verbs string": put("rules[].verbs", "get", "*", "get,list"),
                "apiGroups string": put("rules[].apiGroups", "", "apps"),
                "resources string": put("rules[].resources", "pods"),
                "resources mapping": put("rules[].resources", {"pods": "get"}, [{"name": "pods"}]),
                "resourceNames string": put("rules[].resourceNames", "settings"),
                "verb boolean": add("rules[].verbs", True, 1, ["list"]),
            },
        ),
        *cases(
            "roles",
            kind,
            {
                "verbs empty": put("rules[].verbs", []),
                "verbs missing": drop("rules[].verbs"),
                "verb misspelt": rename("rules[].verbs", "verb"),
                "apiGroups missing": add("rules", {"resources": ["pods"], "verbs": ["get"]}),
                "apiGroups empty": add("rules", {"apiGroups": [], "resources": ["pods"], "verbs": ["get"]}),
                "resources missing": add("rules", {"apiGroups": [""], "verbs": ["get"]}),
                "resources empty": add("rules", {"apiGroups": [""], "resources": [], "verbs": ["get"]}),
                "urls and resources": add(
                    "rules",
                    {"apiGroups": [""], "resources": ["pods"], "nonResourceURLs": ["/metrics"], "verbs": ["get"]},
                ),
                "urls with names": add(
                    "rules", {"nonResourceURLs": ["/metrics"], "resourceNames": ["a"], "verbs": ["get"]}
                ),
                "urls": add("rules", {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}),
                "names with create": add(
                    "rules", {"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["create"]}
                ),
                "rule empty": add("rules", {}),
            },
        ),
    )


def _binding(kind: str) -> tuple[Case, ...]:
    return tuple(
        cases(
            "bindings",
            kind,
            {
                "roleRef missing": drop("roleRef"),
                "roleRef kind": put("roleRef", {**_ROLE, "kind": "Roles"}, {**_ROLE, "kind": "ServiceAccount"}),
                "roleRef kind missing": drop("roleRef.kind"),
                "roleRef group": put("roleRef", {**_ROLE, "apiGroup": "rbac"}, {**_ROLE, "apiGroup": "v1"}),
                "roleRef name missing": drop("roleRef.name"),
                "roleRef string": put("roleRef", "view"),
                "subject kind": add("subjects", {**_ACCOUNT, "kind": "serviceAccount"}, {**_ACCOUNT, "kind": "Pod"}),
                "subject name missing": drop("subjects[].name"),
                "subject kind missing": drop("subjects[].kind"),
                "account without namespace": add("subjects", {"kind": "ServiceAccount", "name": "a"}),
                "account with group": add("subjects", {**_ACCOUNT, "apiGroup": "rbac.authorization.k8s.io"}),
                "account name": add("subjects", {**_ACCOUNT, "name": "My_Account"}),
                "user group": add("subjects", {"kind": "User", "name": "a", "apiGroup": "v1"}),
                "subjects mapping": put("subjects", _ACCOUNT),
                "subjects strings": put("subjects", ["system:serviceaccount:a:b"]),
            },
        )
    )


CASES = (
    *_rules("Role"),
    *_rules("ClusterRole"),
    *_binding("RoleBinding"),
    *_binding("ClusterRoleBinding"),
    *cases(
        "bindings",
        "ClusterRoleBinding",
        {"role": put("roleRef", _ROLE)},
    ),
    *cases(
        "roles",
        "ClusterRole",
        {
            "aggregation empty": put("aggregationRule", {"clusterRoleSelectors": []}),
            "aggregation operator": put(
                "aggregationRule",
                {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Eq", "values": ["b"]}]}]},
            ),
        },
    ),
)
