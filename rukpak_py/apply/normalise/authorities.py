"""Objects that ask for a `caBundle` by an annotation: of our own signer, of cert-manager or of OpenShift.

What such a manifest gives as `caBundle` is a placeholder. Owning it is an endless fight with the injector.
"""

from typing import Any

from rukpak_py.api.metadata import other_injectors
from rukpak_py.api.names import INJECT_CA_ANNOTATION
from rukpak_py.apply.normalise.edit import edit, edit_each, without
from rukpak_py.apply.normalise.notes import Notes


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
