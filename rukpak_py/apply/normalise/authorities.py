"""Objects that ask for a `caBundle` by an annotation: of our own signer, of cert-manager or of OpenShift.

What such a manifest gives as `caBundle` is a placeholder. Owning it is an endless fight with the injector.
"""

from collections.abc import Mapping
from typing import Any

from rukpak_py.api.names import INJECT_CA_ANNOTATION, OTHER_CA_ANNOTATIONS
from rukpak_py.apply.normalise.edit import edit, edit_each, without
from rukpak_py.apply.normalise.notes import Notes

_INJECTED_WHEN_TRUE = frozenset({"cert-manager.io/inject-apiserver-ca", "service.beta.openshift.io/inject-cabundle"})


def other_injectors(annotations: Mapping[str, str]) -> list[str]:
    """The annotations by which somebody else fills in the `caBundle`."""
    found = [(key, annotations.get(key, "")) for key in OTHER_CA_ANNOTATIONS]
    return [key for key, value in found if value and (key not in _INJECTED_WHEN_TRUE or value == "true")]


def leave_authorities_to_injector(manifest: dict[str, Any], notes: Notes) -> dict[str, Any]:
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
