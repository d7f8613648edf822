"""The subject of the rules of all objects: the objects of a bundle, and values of a CSV that become objects.

Each object is taken once. A rule about one object is a sort of its defects; rules about several look at the pods, at
the rules of roles, and at the objects by their kinds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, Final

from rukpak_py.core.findings import Fix
from rukpak_py.formats.crds.rules import problems_of
from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.documents import Document
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.json_fields import Json, at, entries, mapping, text
from rukpak_py.formats.object_rules import defects
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.schemas import schemas
from rukpak_py.formats.rules import Place, Problem, path_text

MOST: Final = 200  # objects that are compared with one; a hostile bundle has thousands for each of thousands
_BETWEEN: Final = frozenset({Sort.REPEATED, Sort.REFERENCE})
_VOLUMES: Final = frozenset({"volumes", "volumeMounts"})
_ROLES: Final = frozenset({"Role", "ClusterRole"})
_TEMPLATE: Final = ("spec", "template")
# A kind -> where the template of its pods is.
_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"), _TEMPLATE),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
    "Pod": (),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a value stands. `title` names an object that stands in no file, which has no lines either."""

    place: Place
    title: str = ""

    def problem(self, message: str, *path: str | int, hint: str | None = None, fix: Fix | None = None) -> Problem:
        place = self.place.below(*path)
        return _titled(Problem(message=message, place=place, hint=hint, fix=fix), self.title)

    def below(self, *path: str | int) -> "Origin":
        return replace(self, place=self.place.below(*path))


@dataclass(frozen=True, kw_only=True)
class JudgedObject:
    document: Document
    origin: Origin

    @cached_property
    def ports(self) -> frozenset[int | str]:
        """Numbers and names of the ports of a Service."""
        ports = entries(self.document.manifest, "spec", "ports")
        values = (port.get(name) for _, port in ports for name in ("name", "port"))
        return frozenset(value for value in values if isinstance(value, int | str))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of a ConfigMap or Secret."""
        fields = ("data", "binaryData", "stringData")
        return frozenset(key for name in fields for key in mapping(self.document.manifest, name))

    @property
    def api(self) -> tuple[str, str]:
        return self.document.api_version, self.document.kind

    @property
    def namespace(self) -> str:
        return text(self.document.manifest, "metadata", "namespace")

    @property
    def is_built_in(self) -> bool:
        return shapes.kind(*self.api) is not None


@dataclass(frozen=True, kw_only=True)
class Pods:
    """A pod, or the template of pods."""

    template: Json
    namespace: str
    origin: Origin  # of the template

    @property
    def labels(self) -> Json:
        return mapping(self.template, "metadata", "labels")

    @cached_property
    def port_names(self) -> frozenset[str]:
        return port_names(self.template)

    def containers(self) -> Iterator[tuple[Origin, Json]]:
        for path, container in _containers(self.template):
            yield self.origin.below(*path), container


@dataclass(frozen=True, kw_only=True, slots=True)
class GrantingRule:
    """A rule of a role."""

    rule: Json
    origin: Origin


@dataclass(kw_only=True)
class Judged:
    objects: list[JudgedObject] = field(default_factory=list)
    found: list[tuple[Sort, Problem]] = field(default_factory=list)
    definitions: list[Problem] = field(default_factory=list)  # of CRDs, beside their schemas
    crds: list[Document] = field(default_factory=list)
    pods: list[Pods] = field(default_factory=list)
    rights: list[GrantingRule] = field(default_factory=list)
    _named: dict[tuple[str, str], dict[str, list[JudgedObject]]] = field(default_factory=dict)  # by namespace
    _labelled: dict[tuple[str, str], list[Pods]] = field(default_factory=dict)

    def add(self, document: Document, *, title: str = "") -> None:
        """`title`: of an object that stands in no file, for its messages."""
        judged = JudgedObject(document=document, origin=Origin(place=document.place(), title=title))
        self.objects.append(judged)
        self.definitions += [_titled(one, title) for one in problems_of(document)]
        if document.kind == DEFINITION:
            self.crds.append(document)
        for one in defects.of_object(document.manifest):
            problem = _problem(one, document.place())
            self.found.append((one.sort, _titled(problem, f"{title}{path_text(one.path)}: " if title else "")))
        if not judged.is_built_in:
            return
        self._named.setdefault((document.kind, document.name), {}).setdefault(judged.namespace, []).append(judged)
        if (template := _TEMPLATES.get(document.kind)) is not None:
            self._add_pods(at(document.manifest, *template), judged.namespace, judged.origin.below(*template))
        if document.kind in _ROLES:
            self._add_rights(document.manifest, judged.origin)

    def add_schemas(self, document: Document) -> None:
        """The schemas of a CRD alone."""
        self.crds.append(document)
        part = Part("CustomResourceDefinition", document.manifest, ())
        self.found += [(one.sort, _problem(one, document.place())) for one in islice(schemas(part), defects.MOST)]

    def add_deployment(self, spec: Json, place: Place, *, has_volumes: bool = True) -> None:
        """The spec of a Deployment. `has_volumes`: else others are mounted, and what refers to them says nothing."""
        for one in defects.of_part(spec, "DeploymentSpec"):
            if has_volumes or one.sort not in _BETWEEN or not _VOLUMES.intersection(one.path):
                self.found.append((one.sort, _problem(one, place)))
        self._add_pods(spec.get("template"), "", Origin(place=place.below("template")))

    def add_role(self, role: Json, place: Place) -> None:
        self.add_part(role, "ClusterRole", place)
        self._add_rights(role, Origin(place=place))

    def add_part(self, value: Any, type_name: str, place: Place) -> None:
        self.found += [(one.sort, _problem(one, place)) for one in defects.of_part(value, type_name)]

    def of(self, sort: Sort) -> Iterator[Problem]:
        return (problem for found, problem in self.found if found is sort)

    def of_kind(self, kind: str) -> Iterator[JudgedObject]:
        """Objects of a kind of the API server itself."""
        return (one for one in self.objects if one.document.kind == kind and one.is_built_in)

    def named(self, kind: str, name: str, namespace: str) -> list[JudgedObject]:
        """Objects of a kind of the API server itself, as far as their namespaces are known."""
        found = self._named.get((kind, name), {})
        wanted = (namespace, "") if namespace else found
        return list(islice(chain.from_iterable(found.get(one, ()) for one in wanted), MOST))

    def selected(self, selector: Json, namespace: str) -> list[Pods]:
        """Pods that labels select, as far as their namespaces are known; none for an empty selector."""
        labelled = (self._labelled.get((key, str(value)), []) for key, value in selector.items())
        found = min(labelled, key=len, default=[])
        return [
            one
            for one in found[:MOST]
            if selector.items() <= one.labels.items() and is_same_namespace(one.namespace, namespace)
        ]

    def _add_pods(self, template: Any, namespace: str, origin: Origin) -> None:
        if isinstance(template, dict):
            pods = Pods(template=template, namespace=namespace, origin=origin)
            self.pods.append(pods)
            for key, value in pods.labels.items():
                if isinstance(value, str):
                    self._labelled.setdefault((key, value), []).append(pods)

    def _add_rights(self, role: Json, origin: Origin) -> None:
        self.rights += [GrantingRule(rule=rule, origin=origin.below(*path)) for path, rule in entries(role, "rules")]


def port_names(template: Json) -> frozenset[str]:
    containers = (container for _, container in _containers(template))
    return frozenset(text(port, "name") for container in containers for _, port in entries(container, "ports"))


def _containers(template: Json) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    for field_name in ("initContainers", "containers"):
        yield from entries(template, "spec", field_name)


def is_same_namespace(one: str, other: str) -> bool:
    """Whether both may be the same: an object without a namespace goes to that of the installation."""
    return not one or not other or one == other


def _titled(problem: Problem, title: str) -> Problem:
    return replace(problem, message=f"{title}{problem.message}", at=(0, 0)) if title else problem


def _problem(defect: Defect, place: Place) -> Problem:
    at_field = replace(place, path=(*place.path, *defect.path), on_key=defect.on_key)
    return Problem(message=defect.message, place=at_field, hint=defect.hint or None, fix=defect.fix)
