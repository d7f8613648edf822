"""The policy of what the operator alone writes: statuses, and the marks of Bundles that belong to a BundleDeployment.

A forged status or owner would have the operator act for it. Users with the verb `impersonate` on the operator's account
may write both, as they could in its name.
"""

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, GROUP, OWNER_KIND_LABEL, OWNER_NAME_LABEL
from rukpak_py.api.policies.document import (
    COLLECTORS,
    MAY_ACT_AS_OPERATOR,
    NO_PROBE,
    NOT_THE_OPERATOR_BUT_FOR_ITS_PROBE,
    Document,
    Expression,
    Validation,
    policy,
)

NAME = "rukpak-operator-only"


def _has_deployment(owners: str) -> str:
    of_ours = f"owner.apiVersion.startsWith('{GROUP}/') && owner.kind == '{BUNDLE_DEPLOYMENT_KIND}'"
    return f"{owners}.exists(owner, {of_ours})"


_VARIABLES = (
    Expression("newLabels", "object.metadata.?labels.orValue({})"),
    Expression("oldLabels", "request.operation == 'CREATE' ? {} : oldObject.metadata.?labels.orValue({})"),
    Expression("newOwners", "object.metadata.?ownerReferences.orValue([])"),
    Expression("oldOwners", "request.operation == 'CREATE' ? [] : oldObject.metadata.?ownerReferences.orValue([])"),
    Expression("newFinalizers", "object.metadata.?finalizers.orValue([])"),
    Expression("oldFinalizers", "request.operation == 'CREATE' ? [] : oldObject.metadata.?finalizers.orValue([])"),
    Expression("isStatus", "has(request.subResource) && request.subResource == 'status'"),
    Expression(
        "isOwned",
        f"['{OWNER_KIND_LABEL}', '{OWNER_NAME_LABEL}'].exists(key, key in variables.newLabels || "
        f"key in variables.oldLabels) || {_has_deployment('variables.newOwners')} || "
        f"{_has_deployment('variables.oldOwners')}",
    ),
    Expression(
        "isUntouched",
        "request.operation == 'UPDATE' && variables.newLabels == variables.oldLabels && "
        "variables.newOwners == variables.oldOwners && variables.newFinalizers == variables.oldFinalizers",
    ),
    Expression(
        "collected",
        f"request.userInfo.username in {COLLECTORS} && request.operation == 'UPDATE' && "
        "variables.newLabels == variables.oldLabels",
    ),
    Expression("mayActAsOperator", MAY_ACT_AS_OPERATOR),
)

_VALIDATIONS = (
    NO_PROBE,
    Validation("!variables.isStatus || variables.mayActAsOperator", "the operator alone writes the status"),
    Validation(
        "variables.isStatus || !variables.isOwned || variables.isUntouched || variables.collected || "
        "variables.mayActAsOperator",
        "the operator alone writes the labels, owner references and finalizers of a Bundle that belongs to a "
        "BundleDeployment",
    ),
)


def operator_only() -> Document:
    return policy(
        NAME,
        resources=("bundles", "bundles/status", "bundledeployments/status", "bundleinstances/status"),
        operations=("CREATE", "UPDATE"),
        conditions=(NOT_THE_OPERATOR_BUT_FOR_ITS_PROBE,),
        variables=_VARIABLES,
        validations=_VALIDATIONS,
    )
