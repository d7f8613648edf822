"""Where our rendering differs from the reference renderer's on purpose: one function, a row, per difference.

A row turns what the reference gives into what we give, from what stands in the bundle: after all rows both are equal.
Rows that refuse, or that render what the reference refuses, say by what in the bundle one knows it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.render import render
from tests.corpus.canonical_form import Json, line_of

_OLD = "apiextensions.k8s.io/v1beta1"
_PODS = ("template", "spec")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A bundle as both read it, and how both render it."""

    ours: Reading
    reference: Reading
    options: RenderOptions

    @classmethod
    def of(cls, tree: Tree, options: RenderOptions) -> "Case":
        return cls(ours=read(tree), reference=read(tree, parity=True), options=options)

    @property
    def bundle(self) -> RegistryBundle:
        assert self.ours.bundle is not None
        return self.ours.bundle

    @property
    def spec(self) -> Json:
        """Spec of the CSV as it is written."""
        return self.bundle.csv.document.manifest.get("spec") or {}

    def rendered(self) -> list[Json] | str:
        return _rendered(self.ours.complete, self.options)

    def rendered_by_reference(self) -> list[Json] | str:
        return _rendered(self.reference.complete, self.options)


def _rendered(complete: Callable[[], RegistryBundle], options: RenderOptions) -> list[Json] | str:
    try:
        return render(complete(), options)
    except ContentError as error:
        return str(error)


# --- objects: what the reference gives, made ours

Row = Callable[[list[Json], Case], list[Json]]


def no_namespace_on_webhook_configurations(objects: list[Json], _: Case) -> list[Json]:
    return [
        {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "namespace"}}
        if obj["kind"].endswith("WebhookConfiguration")
        else obj
        for obj in objects
    ]


def port_443_when_it_is_omitted(objects: list[Json], case: Case) -> list[Json]:
    converted = {name for webhook in case.bundle.csv.webhooks for name in webhook.conversion_crds}

    def with_port(obj: Json) -> Json:
        if obj["kind"].endswith("WebhookConfiguration"):
            return {**obj, "webhooks": [_merged(webhook, _port(webhook)) for webhook in obj["webhooks"]]}
        if obj["kind"] == "CustomResourceDefinition" and obj["metadata"]["name"] in converted:
            webhook = obj["spec"]["conversion"]["webhook"]
            return _merged(obj, {"spec": {"conversion": {"webhook": _port(webhook)}}})
        return obj

    return list(map(with_port, objects))


def _port(webhook: Json) -> Json:
    port = webhook["clientConfig"]["service"]["port"]
    return {"clientConfig": {"service": {"port": port if port > 0 else 443}}}


def accounts_of_deployments(objects: list[Json], case: Case) -> list[Json]:
    present = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "ServiceAccount"}
    pods = [_pod(obj) for obj in objects if obj["kind"] == "Deployment"]
    named = {pod.get("serviceAccountName") or pod.get("serviceAccount") or "default" for pod in pods}
    return [*objects, *(_account(name, case) for name in sorted(named - present - {"default"}))]


def _account(name: str, case: Case) -> Json:
    metadata = {"name": name, "namespace": case.options.install_namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def namespace_of_autoscalers(objects: list[Json], case: Case) -> list[Json]:
    metadata = {"metadata": {"namespace": case.options.install_namespace}}
    return [
        _merged(obj, metadata)
        if obj["kind"] == "VerticalPodAutoscaler" and not obj["metadata"].get("namespace")
        else obj
        for obj in objects
    ]


def old_definitions_stay_as_they_are(objects: list[Json], case: Case) -> list[Json]:
    return [
        _written(case, obj) if obj["kind"] == "CustomResourceDefinition" and obj.get("apiVersion") == _OLD else obj
        for obj in objects
    ]


def unknown_fields_of_definitions(objects: list[Json], case: Case) -> list[Json]:
    definitions = {(found.document.file, found.document.index): found for found in case.bundle.definitions}
    unknown: dict[str, list[Sequence[str | int]]] = defaultdict(list)
    for field in case.ours.unknown:
        found = definitions.get((field.document.file, field.document.index))
        if found is not None and found.document.api_version != _OLD:
            unknown[found.name].append(field.path)
    return [
        _with_members(obj, _written(case, obj), unknown[obj["metadata"]["name"]])
        if obj["kind"] == "CustomResourceDefinition" and obj["metadata"]["name"] in unknown
        else obj
        for obj in objects
    ]


def _written(case: Case, obj: Json) -> Json:
    names = {found.name: found.document.manifest for found in case.bundle.definitions}
    return names[obj["metadata"]["name"]]


def unknown_fields_of_pods(objects: list[Json], case: Case) -> list[Json]:
    document = case.bundle.csv.document
    unknown: dict[str, list[Sequence[str | int]]] = defaultdict(list)
    for entry in case.bundle.csv.deployments:
        before = (*entry.path, "spec")
        for field in case.ours.unknown:
            path, file, index = field.path, field.document.file, field.document.index
            if (file, index) == (document.file, document.index) and path[: len(before)] == before:
                unknown[entry.name].append(path[len(before) :])
    sources = {entry.name: _at(document.manifest, (*entry.path, "spec")) for entry in case.bundle.csv.deployments}
    return [
        _merged(obj, {"spec": _with_members(obj["spec"], sources[name], [p for p in unknown[name] if p[:2] == _PODS])})
        if obj["kind"] == "Deployment" and (name := obj["metadata"]["name"]) in unknown
        else obj
        for obj in objects
    ]


def duplicates_are_merged(objects: list[Json], case: Case) -> list[Json]:
    groups: dict[tuple[str, ...], list[Json]] = {}
    for number, obj in enumerate(objects):
        identity = line_of(obj)[0]
        groups.setdefault(identity if identity[-1] else (*identity, str(number)), []).append(obj)
    return [_one_of(group, case) for group in groups.values()]


def _one_of(group: list[Json], case: Case) -> Json:
    distinct = list({line_of(obj): obj for obj in group}.values())
    if len(distinct) == 1:
        return distinct[0]
    shipped = [obj for obj in distinct if any(_is_shipped_as(obj, found.manifest) for found in case.bundle.others)]
    generated = [obj for obj in distinct if obj not in shipped]
    assert len(shipped) == len(generated) == 1, "different objects of one name"
    if shipped[0]["kind"] == "ServiceAccount":
        return shipped[0]
    assert shipped[0]["kind"] == "Service"
    return _service(shipped[0], generated[0])


def _is_shipped_as(obj: Json, manifest: Json) -> bool:
    without = {**obj, "metadata": {**obj["metadata"], "namespace": (manifest.get("metadata") or {}).get("namespace")}}
    return manifest.get("kind") == obj["kind"] and line_of(without) == line_of(
        {**manifest, "metadata": {"namespace": None, **(manifest.get("metadata") or {})}}
    )


def _service(shipped: Json, generated: Json) -> Json:
    taken = {port["port"] for port in generated["spec"]["ports"]}
    others = [port for port in shipped["spec"].get("ports") or [] if port["port"] not in taken]
    named = [{"name": str(port["port"]), **port} for port in others]
    both = _merged(shipped, {"metadata": generated["metadata"], "spec": {**generated["spec"], "ports": []}})
    both["spec"].update(generated["spec"] | {"ports": [*generated["spec"]["ports"], *named]})
    return both


OBJECTS: tuple[Row, ...] = (
    no_namespace_on_webhook_configurations,
    port_443_when_it_is_omitted,
    accounts_of_deployments,
    namespace_of_autoscalers,
    old_definitions_stay_as_they_are,
    unknown_fields_of_definitions,
    unknown_fields_of_pods,
    duplicates_are_merged,
)


# --- refusals of ours: what in the bundle or the options they are for, and a word of what we say

Sign = Callable[[Case], bool]


def several_csvs(case: Case) -> bool:
    documents = [document for file in case.ours.files for document in file.documents or ()]
    return [document["kind"] for document in documents if document].count("ClusterServiceVersion") > 1


def owned_api_services(case: Case) -> bool:
    return bool((case.spec.get("apiservicedefinitions") or {}).get("owned"))


def webhooks_without_certificates(case: Case) -> bool:
    return case.options.certificates == Certificates.NONE and bool(case.spec.get("webhookdefinitions"))


def different_objects_of_one_name(case: Case) -> bool:
    groups = defaultdict(set)
    for found in case.bundle.others:
        metadata = {**(found.manifest.get("metadata") or {}), "namespace": ""}
        groups[found.api_version, found.kind, found.name].add(line_of({**found.manifest, "metadata": metadata}))
    return any(len(group) > 1 for group in groups.values())


def integers_that_do_not_fit(case: Case) -> bool:
    return any(" must be an integer of " in defect.finding.message for defect in case.ours.defects)


REFUSALS: dict[Sign, str] = {
    several_csvs: "ClusterServiceVersions: ",
    owned_api_services: "apiServiceDefintions are not supported",
    webhooks_without_certificates: "certificate provider is nil",
    different_objects_of_one_name: "is defined differently",
    integers_that_do_not_fit: " must be an integer of 32 bits, got number ",
}


def is_of_trimmed_name(line: str) -> bool:
    """A line of the reference's refusal: rendering removes one `-` at the end, so we judge the name without it."""
    return re.search(r"has invalid name '[a-z0-9.-]*[a-z0-9]-'", line) is not None


# --- what only the reference refuses: the same bundle as the reference renders it without the cause


def own_namespace_by_default(text: str, case: Case) -> Case | None:
    if "target namespace must be specified" not in text or case.options.watch_namespaces:
        return None
    own = (str(case.options.install_namespace),)
    return _with(case, options=RenderOptions(**{**_members(case.options), "watch_namespaces": own}))


def wrong_types_that_reach_no_object(_: str, case: Case) -> Case | None:
    if not case.reference.defects or any(defect.prevents_rendering for defect in case.ours.defects):
        return None
    return _with(case, reference=Reading(**{**_members(case.reference), "defects": ()}))


ONLY_OURS: tuple[Callable[[str, Case], Case | None], ...] = (
    own_namespace_by_default,
    wrong_types_that_reach_no_object,
)


# --- values


def _members(value: Any) -> Json:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _with(case: Case, **changes: Any) -> Case:
    return Case(**{**_members(case), **changes})


def _pod(deployment: Json) -> Json:
    pod: Json = deployment["spec"]["template"]["spec"]
    return pod


def _merged(value: Json, changes: Json) -> Json:
    """The value with the changes, member by member in mappings."""
    merged = dict(value)
    for key, change in changes.items():
        merged[key] = (
            _merged(merged[key], change) if isinstance(change, dict) and isinstance(merged.get(key), dict) else change
        )
    return merged


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value


def _with_members(value: Any, source: Any, paths: Sequence[Sequence[str | int]]) -> Any:
    """The value with the members of the source at the paths."""
    here = {path[0] for path in paths if len(path) == 1}
    below = {part: [path[1:] for path in paths if path[0] == part and len(path) > 1] for part in _firsts(paths)}
    if isinstance(value, list):
        return [_with_members(item, source[i], below[i]) if i in below else item for i, item in enumerate(value)]
    changed = {part: _with_members(value.get(part, {}), source[part], found) for part, found in below.items() if found}
    return {**value, **changed, **{part: source[part] for part in here}}


def _firsts(paths: Sequence[Sequence[str | int]]) -> Iterator[str | int]:
    yield from dict.fromkeys(path[0] for path in paths if len(path) > 1)
