"""Rules for single kinds before they are applied; every rule was seen on a real server to be needed.

Rules see a manifest without blanks. They return the same value when there is nothing to change.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from rukpak_py.api.metadata import other_injectors
from rukpak_py.api.names import INJECT_CA_ANNOTATION
from rukpak_py.apply.normalise.lists import POD_SPEC_PATHS, drop_blank_protocols, merge_account_secrets, merge_pod_lists
from rukpak_py.apply.normalise.notes import Notes, edit, edit_each, without
from rukpak_py.core.objects import ADMISSION_GROUP, GroupKind


def leave_authorities_to_injector(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Drop the `caBundle` of objects whose annotation asks our signer, cert-manager or OpenShift for one.

    In the manifest it is a placeholder. Owning it is an endless fight with the injector.
    """
    annotations = manifest["metadata"].get("annotations", {})
    if not annotations.get(INJECT_CA_ANNOTATION) and not other_injectors(annotations):
        return manifest

    def client_config(value: object, at: str) -> dict[str, Any]:
        return without(notes.mapping(value, at), "caBundle")

    def webhook(value: dict[str, Any], at: str) -> dict[str, Any]:
        return edit(notes, value, ["clientConfig"], client_config, at=at)

    manifest = edit(notes, manifest, ["webhooks"], lambda value, at: edit_each(notes, value, at, webhook))
    if manifest["kind"] == "APIService":
        return edit(notes, manifest, ["spec"], client_config)
    return edit(notes, manifest, ["spec", "conversion", "webhook", "clientConfig"], client_config)


def normalise_kind(manifest: dict[str, Any], kind: GroupKind, notes: Notes) -> dict[str, Any]:
    path = POD_SPEC_PATHS.get(kind)
    if path is not None:
        manifest = merge_pod_lists(manifest, path, notes)
    for rule in _RULES.get(kind, ()):
        manifest = rule(manifest, notes)
    return manifest


def _secret(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Move `stringData` to `data`: owned under a name that is never stored, drift of its values would be invisible."""
    if "stringData" not in manifest:
        return manifest
    try:
        texts = {
            key: base64.b64encode(text.encode()).decode()
            for key, text in notes.text_map(manifest["stringData"], "stringData").items()
        }
    except UnicodeEncodeError:
        # `from None`: the original error quotes the value
        raise notes.error("stringData holds text that is not valid Unicode") from None
    result = without(manifest, "stringData")
    if not texts:
        return result
    return {**result, "data": {**notes.mapping(manifest.get("data", {}), "data"), **texts}}


def _cluster_role(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The rules of an aggregated role belong to its controller: owning them is an endless fight."""
    if "aggregationRule" not in manifest or "rules" not in manifest:
        return manifest
    if manifest["rules"]:
        notes.warn("rules are dropped: the server computes the rules of a role with an aggregationRule")
    return without(manifest, "rules")


def _network_policy(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The server compares the spec as given with the spec as stored, and does not store empty lists.

    So `ingress: []` and its absence mean the same (which is: no rule), and `from: []` and its absence too (which is:
    any peer). Empty mappings are another matter: `ingress: [{}]` and `podSelector: {}` keep their meaning.

    The default of `policyTypes` depends on the rules, and the server fills it in once. Left out, it would stay as it
    was when rules of the other direction come or go: those would never be enforced, or all egress would be denied.
    """

    def spec(value: object, at: str) -> dict[str, Any]:
        fields: dict[str, Any] = _without_empty_lists(notes.mapping(value, at))
        if "policyTypes" in fields:
            return fields
        return {**fields, "policyTypes": ["Ingress", "Egress"] if "egress" in fields else ["Ingress"]}

    return edit(notes, manifest, ["spec"], spec)


def _webhook_configuration(manifest: dict[str, Any], _notes: Notes) -> dict[str, Any]:
    """Drop empty lists, as for a NetworkPolicy: the server stores `webhooks`, `rules` and the like without them."""
    if "webhooks" not in manifest:
        return manifest
    webhooks = _without_empty_lists(manifest["webhooks"])
    if webhooks == []:
        return without(manifest, "webhooks")
    return manifest if webhooks is manifest["webhooks"] else {**manifest, "webhooks": webhooks}


def _storage_class(manifest: dict[str, Any], _notes: Notes) -> dict[str, Any]:
    """Empty parameters are not stored; given again, they are a refused change of parameters."""
    return without(manifest, "parameters") if manifest.get("parameters") == {} else manifest


def _job(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The server replaces an empty selector by a generated one; given again, it is a refused change of the selector."""

    def spec(value: object, at: str) -> dict[str, Any]:
        fields = notes.mapping(value, at)
        is_generated = fields.get("selector") == {} and fields.get("manualSelector") is not True
        return without(fields, "selector") if is_generated else fields

    return edit(notes, manifest, ["spec"], spec)


def _service(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    return edit(notes, manifest, ["spec", "ports"], drop_blank_protocols(notes))


def _without_empty_lists(value: Any) -> Any:
    """The value without the fields that are an empty list."""
    if isinstance(value, list):
        items = [_without_empty_lists(item) for item in value]
        return value if all(a is b for a, b in zip(value, items, strict=True)) else items
    if not isinstance(value, dict):
        return value
    fields = {key: _without_empty_lists(item) for key, item in value.items() if item != []}
    return value if len(fields) == len(value) and all(fields[key] is value[key] for key in value) else fields


_Rule = Callable[[dict[str, Any], Notes], dict[str, Any]]
_RULES: Mapping[GroupKind, tuple[_Rule, ...]] = {
    GroupKind("", "Secret"): (_secret,),
    GroupKind("", "Service"): (_service,),
    GroupKind("", "ServiceAccount"): (merge_account_secrets,),
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): (leave_authorities_to_injector,),
    GroupKind("apiregistration.k8s.io", "APIService"): (leave_authorities_to_injector,),
    GroupKind("batch", "Job"): (_job,),
    GroupKind("networking.k8s.io", "NetworkPolicy"): (_network_policy,),
    GroupKind("rbac.authorization.k8s.io", "ClusterRole"): (_cluster_role,),
    GroupKind("storage.k8s.io", "StorageClass"): (_storage_class,),
    GroupKind(ADMISSION_GROUP, "MutatingWebhookConfiguration"): (_webhook_configuration, leave_authorities_to_injector),
    GroupKind(ADMISSION_GROUP, "ValidatingWebhookConfiguration"): (
        _webhook_configuration,
        leave_authorities_to_injector,
    ),
}
