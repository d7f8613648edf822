"""Ways out, one for each cause that makes something not ready: a sentence that says what to do next.

Keys are the causes in `status.notes`, and the words of kubelet, scheduler and controllers for a workload that fails.
`{name}`: of the deployment; `{object}`: the failing object as kubectl takes it, with its namespace; `{pod}`: the pod
that fails, where one is known, in the same way.
"""

from collections.abc import Mapping

from rukpak_py.api.names import (
    ALLOW_DATA_LOSS_ANNOTATION,
    HELM_CLASS,
    PLAIN_CLASS,
    RECONCILE_AT_ANNOTATION,
    REGISTRY_CLASS,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.workloads import CLAIM_PENDING, CREATING, INITIALIZING, NO_STORAGE_CLASS, NO_VOLUME

NOT_SEEN = "NotSeen"  # no operator has looked at it
NOT_SEEN_YET = "NotSeenYet"  # ... at its present spec
FOREIGN_CLASS = "ForeignClass"  # the same, and its class is none of rukpak-py

_CLASSES = f"{PLAIN_CLASS}, {REGISTRY_CLASS} or {HELM_CLASS}"
_WAIT = "Wait: this ends by itself."
_SERVER = "Wait until the API server answers again: the operator tries by itself."
_RIGHT = (
    "Give the operator, or the account of the deployment, the right that the message names: the operator tries "
    "again by itself."
)
_OWNER = "Remove the object from the bundle or from its other owner, or take it over with spec.adopt."
_CHANGE_SOURCE = "Correct the source in spec.template, or restore what it names."
_CONTENT = (
    "Correct the content: `rukpakctl bundle validate PATH` lists all that is wrong with it. Then change "
    "spec.template to the corrected content."
)
_LOGIN = (
    "Name a Secret with a login that works in the source (pullSecret, or auth.secret): it has to be in the "
    "operator's namespace."
)
_BUNDLE = "Run `kubectl describe {object}`: its conditions and Events say more. Correct the source in spec.template."
_HOOK = (
    f"Look at the Job or Pod of the hook, correct it, and run `rukpakctl reconcile {{name}}` (annotation "
    f"{RECONCILE_AT_ANNOTATION}) to run it again."
)
_CLASS = f"Set the class that the message names to {_CLASSES}."
_SPEC = "Correct the spec as the message says."
_REFUSED = (
    "Correct the object in the bundle as the message says, or change the policy, webhook or quota that refuses it."
)
_HEALTH = (
    "Run `rukpakctl tree {name}` for its pods and `rukpakctl why {name} --log` for the log of the container that "
    "failed."
)
_HIDDEN = (
    "Repair or remove the API service that the message names, or grant the right: the operator looks again once "
    "a minute."
)
_RENDERING = "Change spec.template or spec.config: any change renders the chart anew."

_OF_CAUSES: Mapping[Cause, str] = {
    Cause.SUSPENDED: "Run `rukpakctl resume {name}` to have it reconciled again.",
    Cause.CLASS_NOT_SERVED: f"Set spec.provisionerClassName to {_CLASSES}, or run an operator that serves the class.",
    Cause.CLASS_UNKNOWN: _CLASS,
    Cause.ACCOUNT_REQUIRED: "Name a service account in spec.installNamespace and spec.serviceAccountName.",
    Cause.POLICY_MISSING: (
        "Run `rukpakctl check`: it names the admission policy that differs. Install the policies of this release again."
    ),
    Cause.NOT_JUDGED: (
        "Look at its spec. A user who may impersonate its account then runs `rukpakctl reconcile {name}`."
    ),
    Cause.STATUS_TOO_LARGE: "Shorten spec.config, the annotations or the template of the deployment.",
    Cause.BUNDLE_CONTENT: "Correct spec.template: no Bundle can be made of it.",
    Cause.BUNDLE_REFUSED: "Correct spec.template as the message says: the API server refuses the Bundle.",
    Cause.BUNDLE_DENIED: _RIGHT,
    Cause.BUNDLE_CONFLICT: "Delete or rename the Bundle that has the name already.",
    Cause.BUNDLE_UNAVAILABLE: _SERVER,
    Cause.BUNDLE_FAILED: _SERVER,
    Cause.VALUES_CONTENT: "Correct spec.config.valuesFrom, or the values in the object that the message names.",
    Cause.VALUES_MISSING: (
        "Create the Secret or ConfigMap with that key, or set `optional: true` in spec.config.valuesFrom."
    ),
    Cause.VALUES_DENIED: _RIGHT,
    Cause.VALUES_CONFLICT: _SERVER,
    Cause.VALUES_UNAVAILABLE: _SERVER,
    Cause.VALUES_FAILED: _SERVER,
    Cause.RENDERING_CONTENT: (
        "Correct spec.config or spec.patches as the message says; where the content itself is wrong, change "
        "spec.template to corrected content."
    ),
    Cause.RENDERING_DENIED: _RIGHT,
    Cause.RENDERING_CONFLICT: _SERVER,
    Cause.RENDERING_UNAVAILABLE: _SERVER,
    Cause.RENDERING_FAILED: (
        "Wait: the operator renders it again by itself. Where it lasts, run `rukpakctl check` and look at the "
        "operator's log."
    ),
    Cause.UNPACK_CLASS: _CLASS,
    Cause.UNPACK_CONTENT: _CONTENT,
    Cause.UNPACK_DENIED: _LOGIN,
    Cause.UNPACK_CONFLICT: _BUNDLE,
    Cause.UNPACK_UNAVAILABLE: f"{_CHANGE_SOURCE} Where its server is down, wait: the operator tries again by itself.",
    Cause.UNPACK_FAILED: _BUNDLE,
    Cause.UNPACK_CHANGED: (
        "Restore the old content in the source, or run `rukpakctl refresh {name}` to install what it has now."
    ),
    Cause.UNPACK_LOST: "Upload the same content again, or change spec.template.",
    Cause.ACCOUNT_MISSING: (
        "Create the service account with its rights, or name another one in spec.serviceAccountName."
    ),
    Cause.DEPENDENCY_CYCLE: "Remove one of the entries of spec.dependsOn that form the cycle.",
    Cause.DEPENDENCY_MISSING: (
        "Create the object that spec.dependsOn names, or correct the entry: the deployment then goes on by itself."
    ),
    Cause.NOT_APPLICABLE: (
        "Correct the objects that the message names in the bundle, and change spec.template to the corrected content."
    ),
    Cause.HOOK_FAILED: _HOOK,
    Cause.HOOKS_UNKNOWN: _HOOK,
    Cause.GENERATED_VALUES: (
        "Keep the generated values in spec.config.values or valuesFrom, or accept new ones with "
        "spec.config.acceptNewSecrets."
    ),
    Cause.PERMISSIONS_MISSING: (
        "Run `rukpakctl permissions {name} -o yaml` and apply the roles that it prints: the operator asks again "
        "within 30 seconds."
    ),
    Cause.KIND_MISSING: (
        "Install the CRD or the operator that provides the kind: the deployment then goes on by itself."
    ),
    Cause.NAMESPACE_MISSING: (
        "Create the namespace, or set spec.installNamespace and spec.createNamespace for objects that name none."
    ),
    Cause.RESOURCE_MISSING: "Create what the message names: the deployment then goes on by itself.",
    Cause.REFUSED: _REFUSED,
    Cause.ACCESS: f"{_RIGHT} Where a webhook, a policy or a quota refuses the object, change that or the object.",
    Cause.UNAVAILABLE: "Wait, or bring back what the message names: the operator tries again by itself.",
    Cause.HOOK_NOT_RUN: "Correct what the message names: the operator tries the hook again by itself.",
    Cause.DELETION_FAILED: (
        "Remove what refuses the deletion of the objects that the message names: the operator tries again by itself."
    ),
    Cause.ORPHANING_FAILED: (
        "Remove what refuses the change of the objects that the message names: the operator tries again by itself."
    ),
    Cause.DATA_LOSS: (
        f"Move what others have in it, or allow its loss: `kubectl annotate bundledeployment {{name}} "
        f"{ALLOW_DATA_LOSS_ANNOTATION}=true`."
    ),
    Cause.CONFLICT: _OWNER,
    Cause.KINDS_HELD_BACK_DENIED: _HIDDEN,
    Cause.KINDS_HELD_BACK: _HIDDEN,
    Cause.MIRROR_CONTENT: _SPEC,
    Cause.MIRROR_DENIED: _RIGHT,
    Cause.MIRROR_CONTESTED: "Stop the client that changes the BundleDeployment, and change the BundleInstance instead.",
    Cause.MIRROR_CONFLICT: "Delete the BundleDeployment of this name, or create the BundleInstance under another one.",
    Cause.MIRROR_UNAVAILABLE: _SERVER,
    Cause.MIRROR_FAILED: _SERVER,
    Cause.API_DENIED: _RIGHT,
    Cause.API_CONFLICT: _SERVER,
    Cause.API_UNAVAILABLE: _SERVER,
    Cause.API_FAILED: _SERVER,
    Cause.ROLLED_BACK: (
        "Correct the content or the options that failed, and change the spec: what failed is not tried again."
    ),
    Cause.RENDERING_LOST: _RENDERING,
    Cause.OPTIONS_LOST: "Restore the former spec.config, or correct the new content so that it can be installed.",
    Cause.NOT_CORRECTED: "Restore the former spec.template, or correct the new one as the message says.",
    Cause.PRUNE_FAILED: (
        "Remove what refuses the deletion of the objects that the message names: the operator tries again by itself."
    ),
    Cause.PRUNE_BUDGET: "Check that these objects may go, then raise spec.prune.maxObjects.",
    Cause.CERTIFICATES_CONTESTED: "Stop the client that the message names: until then webhooks of the bundle may fail.",
    Cause.FIELDS_CONTESTED: (
        "Stop the client that the message names, remove the field from the bundle, or name it in "
        "spec.overrides[].ignore."
    ),
    Cause.KINDS_HIDDEN_DENIED: _HIDDEN,
    Cause.KINDS_HIDDEN: _HIDDEN,
    Cause.UNHEALTHY_FAILED: _HEALTH,
    Cause.FETCH_CONTENT: _CONTENT,
    Cause.FETCH_DENIED: _LOGIN,
    Cause.FETCH_NOT_FOUND: "Correct the name, tag or digest in spec.template, or push the image under it.",
    Cause.FETCH_CONFLICT: _CHANGE_SOURCE,
    Cause.FETCH_UNAVAILABLE: f"{_CHANGE_SOURCE} Where its server is down, wait: the operator tries again by itself.",
    Cause.FETCH_FAILED: f"{_CHANGE_SOURCE} The operator tries again by itself.",
    Cause.CONTENT_CHANGED: (
        "Restore the old content in the source, or run `rukpakctl refresh {name}` to install what it has now."
    ),
    Cause.DIGEST_CHANGED: (
        "Set status.digest of the Bundle back to what the message says, or delete the Bundle: it is created again."
    ),
    Cause.CONTENT_LOST: "Upload the same content again, or change spec.template.",
    Cause.SPEC_CHANGED: "Restore the former spec of the Bundle, or delete the Bundle: it is created again.",
    Cause.UPLOAD_PENDING: "Upload the content: `rukpakctl run {name} DIRECTORY` does so.",
    Cause.IMAGE_DENIED: _LOGIN,
    Cause.IMAGE_NOT_FOUND: "Correct the name, tag or digest in spec.template, or push the image under it.",
    Cause.REGISTRY_UNUSABLE: "Wait: a node pulls the image. Where that fails too, correct the source in spec.template.",
    Cause.IMAGE_PENDING: "Wait until a node has pulled the image; `rukpakctl events {name}` shows how far it is.",
    Cause.UNPACKING: _WAIT,
    Cause.BUNDLE_CLASS_NOT_SERVED: (
        f"Set spec.template.spec.provisionerClassName to {_CLASSES}, or run an operator that serves the class."
    ),
    Cause.BUNDLE_UNPACKING: "Wait: its Bundle is being unpacked. `rukpakctl events {name}` shows how far it is.",
    Cause.REFETCHING: _WAIT,
    Cause.RENDERING: _WAIT,
    Cause.DEPENDENCY_NOT_READY: (
        "Run `rukpakctl why` for the deployment that it waits for: this one goes on when that one is ready."
    ),
    Cause.APPLYING: _WAIT,
    Cause.SCHEMA_LAGS: _WAIT,
    Cause.OBJECT_CHANGED: _WAIT,
    Cause.FORMER_HOOK: "Wait until the hook of the former installation has ended, or delete its Job.",
    Cause.KINDS_COMING: _WAIT,
    Cause.ANSWERS_SLOWLY: "Look at the admission webhooks for these objects, and at the load of the API server.",
    Cause.OBJECTS_PENDING: (
        "Wait for the objects that the message names. Where it lasts, run `kubectl describe` on the first one."
    ),
    Cause.HOOK_RUNNING: "Wait until the hook has ended. Where it lasts, look at its Job or Pod.",
    Cause.PRUNING: _WAIT,
    Cause.ORPHANING: _WAIT,
    Cause.DELETING: (
        "Wait. Where it lasts, find out which finalizers hold the objects that the message names, and run the "
        "controller that removes them."
    ),
    Cause.STILL_UNHEALTHY: _HEALTH,
    Cause.UNHEALTHY: f"Wait, if it has just been installed. {_HEALTH}",
    Cause.UPGRADE_NOT_APPROVED: (
        "Run `rukpakctl plan {name}` to see the upgrade, and `rukpakctl approve {name}` to let it begin."
    ),
    Cause.UPGRADE_DEPENDENCY: (
        "Run `rukpakctl why` for the deployment that it waits for: the upgrade begins when that one is ready."
    ),
    Cause.UPGRADE_OUTSIDE_WINDOW: "Wait for a window of spec.upgrades, or run `rukpakctl approve {name} --now`.",
}

_PULL = (
    "Correct the image in the bundle, or give the pod an imagePullSecret that may pull it: `kubectl describe "
    "{pod}` has the answer of the registry."
)
_CRASH = (
    "Run `rukpakctl why {name} --log`: the log of the container says why. Correct the container in the bundle, "
    "or what it needs, and install that."
)
_CREATION = "Create the ConfigMap, Secret or key that the container refers to, or correct the reference in the bundle."
_RUNTIME = (
    "Correct the command, the arguments or the mounts of the container in the bundle: the runtime cannot start it."
)
_JOB = (
    "Run `rukpakctl why {name} --log` for its last pod. Correct the Job in the bundle, then delete it: `kubectl "
    "delete {object}`."
)

OF_WORKLOADS: Mapping[str, str] = {
    "ErrImagePull": _PULL,
    "ImagePullBackOff": _PULL,
    "ErrImageNeverPull": "Set imagePullPolicy to IfNotPresent in the bundle, or load the image on the node.",
    "InvalidImageName": "Correct the name of the image in the bundle: it is not a valid reference.",
    "CrashLoopBackOff": _CRASH,
    "Error": _CRASH,
    "OOMKilled": (
        "Raise resources.limits.memory of the container, in the bundle or with spec.patches: it uses more memory "
        "than its limit."
    ),
    "CreateContainerConfigError": _CREATION,
    "CreateContainerError": _RUNTIME,
    "RunContainerError": _RUNTIME,
    "StartError": _RUNTIME,
    "ContainerCannotRun": _RUNTIME,
    "Unschedulable": (
        "Make room for the pod: add a node, lower its requests, or correct its node selector, affinity or "
        "tolerations. `kubectl describe {pod}` says how many nodes refuse it, and why."
    ),
    CREATING: (
        "Create what its volumes name: a Secret, a ConfigMap or a claim is missing, or cannot be mounted. `kubectl "
        "describe {pod}` has the Events of the pod."
    ),
    INITIALIZING: "Run `rukpakctl why {name} --log`: an init container has not ended, and its log says why.",
    "SchedulingGated": "Remove the scheduling gates of the pod, or run the controller that does.",
    "ContainersNotReady": (
        "The container runs, and its readiness probe fails: run `rukpakctl why {name} --log`, and check path and "
        "port of the probe."
    ),
    "ReadinessGatesNotReady": "Run the controller that sets the readiness gates of the pod.",
    "FailedCreate": (
        "Its pods are refused: raise the quota, or correct what the message names (quota, policy, security "
        "standard of the namespace, service account)."
    ),
    "BackoffLimitExceeded": _JOB,
    "DeadlineExceeded": _JOB,
    "PodFailurePolicy": _JOB,
    "Evicted": "The node ran out of what the message names: set requests for it, and delete the pod.",
    "NodeLost": "Bring the node back, or delete the pod so that it is created on another one.",
    "UnexpectedAdmissionError": (
        "Delete the pod so that it is created again: its node had no device or resource for it."
    ),
    NO_STORAGE_CLASS: (
        "Set spec.storageClassName of the claim with spec.patches or in the bundle, or make a StorageClass the "
        "default: `kubectl get storageclass` lists them."
    ),
    NO_VOLUME: "Create a PersistentVolume without a class that fits the claim, or set spec.storageClassName.",
    CLAIM_PENDING: (
        "Check that its StorageClass exists and its provisioner runs: `kubectl describe {object}` has their "
        "Events. A class with WaitForFirstConsumer waits for the pod."
    ),
}

_OTHERS: Mapping[str, str] = {
    NOT_SEEN: "Run `rukpakctl check`: the operator does not run, or does not watch this cluster.",
    NOT_SEEN_YET: "Wait a moment. Where it lasts, run `rukpakctl check`: the operator does not run.",
    FOREIGN_CLASS: f"Set spec.provisionerClassName to {_CLASSES}, or run the operator that serves the class.",
}

WAYS_OUT: Mapping[str, str] = {**_OTHERS, **OF_WORKLOADS, **{cause.value: text for cause, text in _OF_CAUSES.items()}}


def way_out(cause: str, *, name: str, about: ObjectKey, pod: ObjectKey | None = None) -> str:
    """Empty for a cause of another release."""
    known = {"name": name, "object": _as_argument(about), "pod": _as_argument(pod or about)}
    text = WAYS_OUT.get(cause, "")
    for place, value in known.items():
        text = text.replace(f"{{{place}}}", value)
    return text


def _as_argument(key: ObjectKey) -> str:
    """The object as kubectl takes it."""
    where = f" -n {key.namespace}" if key.namespace else ""
    return f"{str(key.group_kind).lower()}/{key.name}{where}"
