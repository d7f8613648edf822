"""Where and how a bundle is installed: everything that decides its objects besides the bundle itself.

Which namespaces the operator watches must fit its install modes. One namespace that is not the operator's own needs
SingleNamespace, and SingleNamespace alone does not allow the operator's own.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rukpak_py.core.errors import ContentError
from rukpak_py.formats import dns
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import SUGGESTED_NAMESPACE, InstallMode, RegistryBundle
from rukpak_py.formats.registry_v1.render.certificates import Provider

ALL_NAMESPACES = ("",)
_MEANING = {
    InstallMode.ALL: "all namespaces ('')",
    InstallMode.OWN: "its own ({namespace})",
    InstallMode.SINGLE: "one other namespace",
    InstallMode.MULTI: "several namespaces",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderTarget:
    bundle: RegistryBundle
    namespace: str
    targets: tuple[str, ...]  # the namespaces that the operator watches; ("",) is all of them
    certificates: Provider | None
    deployment_config: Json  # typed; empty when nothing is configured

    @property
    def watches_everything(self) -> bool:
        return self.targets == ALL_NAMESPACES

    def object(self, api_version: str, kind: str, name: str, *, namespace: str | None = None) -> Json:
        """The head of a namespaced object; without `namespace` it lives where the operator does."""
        metadata = {"name": name, "namespace": self.namespace if namespace is None else namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def annotated(manifest: Json, annotations: Mapping[str, str], *, instead_of: Collection[str] = ()) -> Json:
    """The same object when there is nothing to add; what it says already is replaced. `instead_of`: these go."""
    if not annotations:
        return manifest
    metadata = manifest.get("metadata") or {}
    former = {key: value for key, value in (metadata.get("annotations") or {}).items() if key not in instead_of}
    merged = {**former, **annotations}
    return {**manifest, "metadata": {**metadata, "annotations": merged}}


def install_namespace(bundle: RegistryBundle, given: str | None = None) -> str:
    """As given, else as the CSV suggests, else named after the package; rule RV1-919 tells of names that cannot be."""
    return given or bundle.csv.annotations.get(SUGGESTED_NAMESPACE) or f"{bundle.metadata.package}-system"


def target_namespaces(bundle: RegistryBundle, namespace: str, given: Sequence[str] | None = None) -> tuple[str, ...]:
    modes = bundle.csv.supported_modes
    targets = _default(bundle, namespace) if not given else tuple(given)
    if not bundle.parity:
        targets = tuple(dict.fromkeys(targets))
        for target in given or ():
            if target and target != namespace and (reasons := dns.label(target)):
                raise ContentError(
                    f"the watch namespace {target!r} is not a valid namespace name: {', '.join(reasons)}"
                )
    problem = _problem(targets, namespace, modes)
    if problem:
        hint = "" if bundle.parity else f"; {_advice(modes, namespace)}: see {bundle.csv.document.file}"
        shown = " ".join(targets)
        raise ContentError(f"invalid option(s): invalid target namespaces [{shown}]: {problem}{hint}")
    return targets


def _default(bundle: RegistryBundle, namespace: str) -> tuple[str, ...]:
    modes = bundle.csv.supported_modes
    if InstallMode.ALL in modes:
        return ("",)
    if InstallMode.OWN in modes and not bundle.parity:
        return (namespace,)
    return ()


def _problem(targets: Sequence[str], namespace: str, modes: Sequence[str]) -> str:
    distinct = set(targets)
    supported = f"supported install modes [{' '.join(modes)}] do not support"
    own, elsewhere = "targeting own namespace", f"target namespaces [{' '.join(targets)}]"
    if not distinct:
        number = "at least one" if InstallMode.MULTI in modes else "exactly one"
        return f"{number} target namespace must be specified"
    if distinct == {""}:
        return "" if InstallMode.ALL in modes else f"{supported} targeting all namespaces"
    if distinct == {namespace}:
        return "" if InstallMode.OWN in modes else f"{supported} {own}"
    if len(distinct) == 1:
        return "" if InstallMode.SINGLE in modes else f"{supported} {elsewhere}"
    if namespace in distinct and InstallMode.OWN not in modes:
        return f"{supported} {own}"
    return "" if InstallMode.MULTI in modes and "" not in distinct else f"{supported} {elsewhere}"


def _advice(modes: Sequence[str], namespace: str) -> str:
    possible = [meaning.format(namespace=namespace) for mode, meaning in _MEANING.items() if mode in modes]
    return f"the operator can watch {' or '.join(possible)}" if possible else "the CSV supports no install mode at all"
