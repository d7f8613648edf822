"""The policy that says which users may name an account, or change a BundleDeployment that is served with one.

Who may edit a deployment acts with the rights of its account: by its template, but also by an annotation, an owner
reference or a finalizer. So each write and each deletion needs the verb `impersonate` on the account before and after.
No account counts as the operator's own; in classic mode what names none before and after is left to RBAC. What
needs the verb `approve` is in approvals.py, and in this policy: only an approval alone needs no `impersonate`.

A check of a right costs 350,000 of the 10,000,000 that a policy may spend, and an expression has 1,000,000: so each
check is one variable, evaluated once and only when an expression asks for it, and no list is checked item by item.
"""

from rukpak_py.api.names import OPERATOR_ACCOUNT
from rukpak_py.api.policies import approvals
from rukpak_py.api.policies.document import (
    COLLECTORS,
    NO_PROBE,
    NOT_THE_OPERATOR_BUT_FOR_ITS_PROBE,
    UNCHANGED_LABELS,
    Document,
    Expression,
    Token,
    Validation,
    policy,
)

NAME = "rukpak-accounts"

_OPERATOR = f"the operator itself, service account {Token.SYSTEM_NAMESPACE}/{OPERATOR_ACCOUNT}"
_NEEDS = "that needs the verb impersonate on this service account"

# The migration of stored versions changes none of these. Emptied managedFields let no manager remove what it drops.
_CHANGES_SOMETHING = "request.operation != 'UPDATE' || object.spec != oldObject.spec || " + " || ".join(
    f"object.metadata.?{field}.orValue({empty}) != oldObject.metadata.?{field}.orValue({empty})"
    for field, empty in (
        ("labels", "{}"),
        ("annotations", "{}"),
        ("ownerReferences", "[]"),
        ("finalizers", "[]"),
        ("managedFields", "[]"),
    )
)


def _may_use(side: str) -> str:
    """Check of the account of one side, `new` or `old`; without one, of the operator's."""
    account, namespace = f"variables.{side}Account", f"variables.{side}Namespace"
    return (
        "authorizer.group('').resource('serviceaccounts')"
        f".namespace({account} != '' ? {namespace} : '{Token.SYSTEM_NAMESPACE}')"
        f".name({account} != '' ? {account} : '{OPERATOR_ACCOUNT}').check('impersonate').allowed()"
    )


def _account(side: str) -> str:
    spec = f"variables.{side}Spec"
    named = f"{spec}.?serviceAccountName.orValue('')"
    return f"{named} != '' ? {spec}.serviceAccountName : '{Token.DEFAULT_ACCOUNT}'"


_VARIABLES = (
    # Of a deletion there is no object, of a creation no former one.
    Expression("newSpec", "request.operation == 'DELETE' ? {} : object.spec"),
    Expression("oldSpec", "request.operation == 'CREATE' ? {} : oldObject.spec"),
    Expression("newNamespace", f"variables.newSpec.?installNamespace.orValue('{Token.SYSTEM_NAMESPACE}')"),
    Expression("oldNamespace", f"variables.oldSpec.?installNamespace.orValue('{Token.SYSTEM_NAMESPACE}')"),
    Expression("newAccount", _account("new")),
    Expression("oldAccount", _account("old")),
    Expression("mayUseNew", f"request.operation == 'DELETE' || {_may_use('new')}"),
    Expression("mayUseOld", f"request.operation == 'CREATE' || {_may_use('old')}"),
    # Only the operator's own rights are used, as ever.
    Expression(
        "leftToRBAC",
        f"'{Token.MODE}' == 'classic' && (request.operation == 'DELETE' || variables.newAccount == '') && "
        "(request.operation == 'CREATE' || variables.oldAccount == '')",
    ),
    # The garbage collector deletes, and writes owner references and finalizers.
    Expression(
        "collected",
        f"request.userInfo.username in {COLLECTORS} && (request.operation == 'DELETE' || "
        f"(request.operation == 'UPDATE' && object.spec == oldObject.spec && {UNCHANGED_LABELS} && "
        "object.metadata.?annotations.orValue({}) == oldObject.metadata.?annotations.orValue({})))",
    ),
    *approvals.VARIABLES,
    Expression("isFree", f"variables.leftToRBAC || variables.collected || {approvals.IS_APPROVED_ALONE}"),
)

_VALIDATIONS = (
    NO_PROBE,
    Validation(
        "variables.isFree || variables.mayUseOld",
        "changing or deleting it needs the verb impersonate on the service account that it runs as",
        "'it runs as ' + (variables.oldAccount != '' ? 'service account ' + variables.oldNamespace + '/' + "
        f"variables.oldAccount : '{_OPERATOR}') + '; changing or deleting it needs the verb impersonate on this "
        "service account'",
    ),
    Validation(
        "variables.isFree || variables.mayUseNew",
        "that needs the verb impersonate on the service account that it would run as",
        "'it would run as ' + (variables.newAccount != '' ? 'service account ' + variables.newNamespace + '/' + "
        f"variables.newAccount : '{_OPERATOR}, because spec.serviceAccountName is empty') + '; {_NEEDS}'",
    ),
    Validation(
        "request.operation != 'UPDATE' || variables.oldAccount == '' || variables.newAccount == '' || "
        "variables.oldNamespace == variables.newNamespace",
        "spec.installNamespace is half of the identity and cannot change while there is a service account: "
        "create another BundleDeployment",
    ),
    *approvals.VALIDATIONS,
)


def accounts() -> Document:
    return policy(
        NAME,
        resources=("bundledeployments", "bundleinstances"),
        operations=("CREATE", "UPDATE", "DELETE"),
        conditions=(NOT_THE_OPERATOR_BUT_FOR_ITS_PROBE, Expression("changes-something", _CHANGES_SOMETHING)),
        variables=_VARIABLES,
        validations=_VALIDATIONS,
    )
