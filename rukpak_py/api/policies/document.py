"""ValidatingAdmissionPolicies and their bindings as documents, with every field that the server would default.

So what is stored equals what was shipped, and can be compared as a whole. The values of an installation stand in the
documents as tokens: the chart and the operator put the same values in their places.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from rukpak_py.api.names import GROUP, OPERATOR_ACCOUNT, VERSION

Document = dict[str, Any]

API_VERSION = "admissionregistration.k8s.io/v1"
POLICY_KIND = "ValidatingAdmissionPolicy"
BINDING_KIND = "ValidatingAdmissionPolicyBinding"
PROBE = "rukpak-policy-probe"  # the name that the policies refuse to every user, which proves that they are in force


class Token(StrEnum):
    """Values of an installation, and the revision of the policies, as they stand in the documents."""

    SYSTEM_NAMESPACE = "@SYSTEM_NAMESPACE@"
    MODE = "@MODE@"
    DEFAULT_ACCOUNT = "@DEFAULT_ACCOUNT@"  # empty: there is none
    LEAST_APPROVAL = "@LEAST_APPROVAL@"
    SECRETS_ACTION = "@SECRETS_ACTION@"
    REVISION = "@REVISION@"


OPERATOR_USER = f"system:serviceaccount:{Token.SYSTEM_NAMESPACE}:{OPERATOR_ACCOUNT}"
IS_PROBE = f"request.operation == 'CREATE' && object.metadata.name == '{PROBE}'"
IN_FORCE = (
    f"the policies of rukpak are in force: revision {Token.REVISION}, system namespace {Token.SYSTEM_NAMESPACE}, "
    f"mode {Token.MODE}, default service account '{Token.DEFAULT_ACCOUNT}', "
    f"least approval {Token.LEAST_APPROVAL}"
)
COLLECTORS = "['system:serviceaccount:kube-system:generic-garbage-collector', 'system:kube-controller-manager']"
UNCHANGED_LABELS = "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})"
MAY_ACT_AS_OPERATOR = (
    f"authorizer.group('').resource('serviceaccounts').namespace('{Token.SYSTEM_NAMESPACE}')"
    f".name('{OPERATOR_ACCOUNT}').check('impersonate').allowed()"
)


class Expression(NamedTuple):
    """A variable or a match condition."""

    name: str
    cel: str


class Validation(NamedTuple):
    """`message` is what a user reads where `message_cel` cannot be computed, or there is none."""

    cel: str
    message: str
    message_cel: str = ""


NOT_THE_OPERATOR = Expression("not-the-operator", f"request.userInfo.username != '{OPERATOR_USER}'")
NOT_THE_OPERATOR_BUT_FOR_ITS_PROBE = Expression("not-the-operator", f"{NOT_THE_OPERATOR.cel} || ({IS_PROBE})")
NO_PROBE = Validation(f"!({IS_PROBE})", IN_FORCE)


def policy(
    name: str,
    *,
    resources: Sequence[str],
    operations: Sequence[str],
    conditions: Sequence[Expression],
    variables: Sequence[Expression],
    validations: Sequence[Validation],
) -> Document:
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": [VERSION],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "*",
    }
    matched = {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [rule],
    }
    return {
        "apiVersion": API_VERSION,
        "kind": POLICY_KIND,
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",  # an expression that costs too much refuses
            "matchConstraints": matched,
            "matchConditions": [{"name": one.name, "expression": one.cel} for one in conditions],
            "variables": [{"name": one.name, "expression": one.cel} for one in variables],
            "validations": [_validation(one) for one in validations],
        },
    }


def binding(name: str, action: str) -> Document:
    """Bind the policy of the same name for all objects."""
    return {
        "apiVersion": API_VERSION,
        "kind": BINDING_KIND,
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": [str(action)]},
    }


def _validation(one: Validation) -> Document:
    computed = {"messageExpression": one.message_cel} if one.message_cel else {}
    return {"expression": one.cel, "reason": "Forbidden", "message": one.message, **computed}
