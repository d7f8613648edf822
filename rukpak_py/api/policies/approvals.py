"""Part of the policy of accounts: the verb `approve`, on the bundledeployment of the object's name.

An approval decides about an upgrade, and so does each way around one: other rules for upgrades, a deletion after which
the same name is a first install, an owner that is gone, a lost finalizer, hooks that do not run. All of these need the
verb, in both modes. An approval that changes nothing else needs no right on the account.
"""

from rukpak_py.api.names import APPROVED_ANNOTATION, GROUP, SKIP_HOOKS_ANNOTATION
from rukpak_py.api.policies.document import UNCHANGED_LABELS, Expression, Token, Validation
from rukpak_py.api.upgrades import Approval

COMPARED_AT_MOST = 128  # annotations: comparing them costs time that the API server does not charge
MANAGERS_AT_MOST = 32

_VERB = "the verb approve on the bundledeployment of this name"
_RANKS = "{" + ", ".join(f"'{one}': {rank}" for rank, one in enumerate(Approval)) + "}"
_SAME_OWNERS = "object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])"
_SAME_FINALIZERS = "object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])"

# A manager whose fields of the spec are forgotten would no longer remove what it drops.
_MANAGERS_KEEP_SPEC = (
    f"object.metadata.?managedFields.orValue([]).size() <= {MANAGERS_AT_MOST} && "
    f"oldObject.metadata.?managedFields.orValue([]).size() <= {MANAGERS_AT_MOST} && "
    "oldObject.metadata.?managedFields.orValue([]).all(old, !('f:spec' in old.?fieldsV1.orValue({})) || "
    "object.metadata.?managedFields.orValue([]).exists(new, new.manager == old.manager && "
    "new.operation == old.operation && new.?fieldsV1[?'f:spec'] == old.?fieldsV1[?'f:spec']))"
)

VARIABLES = (
    Expression("name", "request.operation == 'DELETE' ? oldObject.metadata.name : object.metadata.name"),
    Expression(
        "newAnnotations",
        "request.operation == 'DELETE' ? {} : object.metadata.?annotations.orValue({})",
    ),
    Expression(
        "oldAnnotations",
        "request.operation == 'CREATE' ? {} : oldObject.metadata.?annotations.orValue({})",
    ),
    Expression(
        "mayApprove",
        f"authorizer.group('{GROUP}').resource('bundledeployments').name(variables.name).check('approve').allowed()",
    ),
    Expression("newApproved", f"variables.newAnnotations[?'{APPROVED_ANNOTATION}'].orValue('')"),
    Expression("oldApproved", f"variables.oldAnnotations[?'{APPROVED_ANNOTATION}'].orValue('')"),
    Expression(
        "isApprovalAlone",
        f"request.operation == 'UPDATE' && object.spec == oldObject.spec && {UNCHANGED_LABELS} && {_SAME_OWNERS} && "
        f"{_SAME_FINALIZERS} && variables.newAnnotations.size() <= {COMPARED_AT_MOST} && "
        f"variables.oldAnnotations.size() <= {COMPARED_AT_MOST} && "
        f"variables.newAnnotations.all(key, key == '{APPROVED_ANNOTATION}' || "
        "variables.oldAnnotations[?key] == optional.of(variables.newAnnotations[key])) && "
        f"variables.oldAnnotations.all(key, key == '{APPROVED_ANNOTATION}' || key in variables.newAnnotations) && "
        f"{_MANAGERS_KEEP_SPEC}",
    ),
    Expression("newApproval", f"variables.newSpec.?upgrades.?approval.orValue('{Approval.AUTOMATIC}')"),
    Expression("oldApproval", f"variables.oldSpec.?upgrades.?approval.orValue('{Approval.AUTOMATIC}')"),
    Expression(
        "asksForEnough",
        f"{_RANKS}[variables.newApproval] >= {_RANKS}['{Token.LEAST_APPROVAL}']",
    ),
    Expression("newCrdSafety", "variables.newSpec.?crdSafety.orValue('Enforce')"),
    Expression("oldCrdSafety", "variables.oldSpec.?crdSafety.orValue('Enforce')"),
)

IS_APPROVED_ALONE = "(variables.isApprovalAlone && variables.mayApprove)"

VALIDATIONS = (
    Validation(
        "variables.newApproved == '' || variables.newApproved == variables.oldApproved || variables.mayApprove",
        f"setting the annotation {APPROVED_ANNOTATION} needs {_VERB}",
    ),
    Validation(
        "request.operation != 'UPDATE' || (variables.oldSpec.?upgrades == variables.newSpec.?upgrades && "
        "variables.oldCrdSafety == variables.newCrdSafety) || variables.mayApprove",
        f"changing spec.upgrades or spec.crdSafety needs {_VERB}",
    ),
    Validation(
        "request.operation != 'CREATE' || variables.asksForEnough || variables.mayApprove",
        f"asking for less than spec.upgrades.approval: {Token.LEAST_APPROVAL} needs {_VERB}",
    ),
    Validation(
        "request.operation != 'CREATE' || variables.newCrdSafety == 'Enforce' || variables.mayApprove",
        f"asking for less than spec.crdSafety: Enforce needs {_VERB}",
    ),
    Validation(
        f"request.operation != 'CREATE' || variables.newApproval == '{Approval.AUTOMATIC}' || "
        "object.metadata.?ownerReferences.orValue([]).size() == 0 || variables.mayApprove",
        f"its upgrades wait for an approval; creating it with owner references needs {_VERB}",
    ),
    Validation(
        f"request.operation == 'CREATE' || variables.oldApproval == '{Approval.AUTOMATIC}' || variables.collected || "
        f"(request.operation == 'UPDATE' && {_SAME_OWNERS} && {_SAME_FINALIZERS} && "
        f"variables.newAnnotations[?'{SKIP_HOOKS_ANNOTATION}'] == "
        f"variables.oldAnnotations[?'{SKIP_HOOKS_ANNOTATION}']) || variables.mayApprove",
        "its upgrades wait for an approval; deleting it, and changing its owner references, its finalizers or the "
        f"annotation {SKIP_HOOKS_ANNOTATION}, needs {_VERB}",
    ),
)
