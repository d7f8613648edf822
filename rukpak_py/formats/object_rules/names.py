"""Defects of an object's metadata: its name, as its kind needs it, labels and annotations."""

from collections.abc import Callable, Iterator
from typing import Final

from rukpak_py.formats import dns
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.selectors import labels

_ANNOTATION_BYTES: Final = 256 * 1024


def _segment(name: str) -> list[str]:
    """Names of roles and bindings."""
    if name in {".", ".."}:
        return [f"must not be '{name}'"]
    return ["must not contain '/' or '%'"] if "/" in name or "%" in name else []


_OF_KINDS: Final[dict[str, Callable[[str], list[str]]]] = {
    "Service": dns.dns_1035_label,
    "Namespace": dns.label,
    **dict.fromkeys(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"), _segment),
}
_IN_NO_NAMESPACE: Final = frozenset(
    {"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "PersistentVolume", "StorageClass"}
    | {"PriorityClass", "IngressClass", "RuntimeClass", "ValidatingWebhookConfiguration", "CSIDriver", "DeviceClass"}
    | {"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "FlowSchema"}
    | {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "PriorityLevelConfiguration", "ServiceCIDR"}
    | {"VolumeAttributesClass"}
)
# Names that other rules judge.
_NOT_HERE: Final = frozenset({"CustomResourceDefinition"})


def metadata(part: Part) -> Iterator[Defect]:
    """Defects of the metadata of a whole object."""
    found = part.mapping("metadata")
    name, namespace = found.get("name"), found.get("namespace")
    if isinstance(name, str) and name and part.struct not in _NOT_HERE:
        for reason in _OF_KINDS.get(part.struct, dns.subdomain)(name):
            yield part.defect(Sort.NAME, f'name "{name[:80]}": {reason}', "metadata", "name")
    if isinstance(namespace, str) and namespace and part.struct not in _IN_NO_NAMESPACE:
        for reason in dns.label(namespace):
            yield part.defect(Sort.NAME, f'namespace "{namespace[:80]}": {reason}', "metadata", "namespace")
    yield from labels(part, part.mapping("metadata", "labels"), "metadata", "labels")
    finalizers = found.get("finalizers")
    for index, finalizer in enumerate(finalizers if isinstance(finalizers, list) else []):
        for reason in dns.qualified_name(finalizer) if isinstance(finalizer, str) else []:
            message = f'finalizer "{finalizer[:80]}": {reason}'
            yield part.defect(Sort.NAME, message, "metadata", "finalizers", index)
    annotations = part.mapping("metadata", "annotations")
    for key in annotations:
        for reason in dns.qualified_name(key.lower()):
            yield part.defect(
                Sort.NAME, f'annotation "{key[:80]}": {reason}', "metadata", "annotations", key, on_key=True
            )
    size = sum(len(f"{key}{value}".encode(errors="surrogatepass")) for key, value in annotations.items())
    if size > _ANNOTATION_BYTES:
        message = f"annotations have {size} bytes, and may have {_ANNOTATION_BYTES}"
        yield part.defect(Sort.RANGE, message, "metadata", "annotations", on_key=True)
