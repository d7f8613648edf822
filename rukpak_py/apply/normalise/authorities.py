"""Objects that ask somebody else to fill in a `caBundle`, by an annotation of cert-manager or OpenShift.

What such a manifest gives as `caBundle` is a placeholder. Owning it is an endless fight with the injector.
"""

from typing import Any

from rukpak_py.apply.normalise.edit import edit, edit_each, without
from rukpak_py.apply.normalise.notes import Notes

_INJECTED_WHEN_SET = ("cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret")
_INJECTED_WHEN_TRUE = ("cert-manager.io/inject-apiserver-ca", "service.beta.openshift.io/inject-cabundle")


def leave_authorities_to_injector(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
    annotations = manifest["metadata"].get("annotations", {})
    is_injected = any(annotations.get(key) for key in _INJECTED_WHEN_SET) or any(
        annotations.get(key) == "true" for key in _INJECTED_WHEN_TRUE
    )
    if not is_injected:
        return manifest

    def client_config(value: object, at: str) -> dict[str, Any]:
        return without(notes.mapping(value, at), "caBundle")

    def webhook(value: dict[str, Any], at: str) -> dict[str, Any]:
        return edit(notes, value, ["clientConfig"], client_config, at=at)

    manifest = edit(notes, manifest, ["webhooks"], lambda value, at: edit_each(notes, value, at, webhook))
    if manifest["kind"] == "APIService":
        return edit(notes, manifest, ["spec"], client_config)
    return edit(notes, manifest, ["spec", "conversion", "webhook", "clientConfig"], client_config)
