"""Wants: serving certificates, and the callers that need their CA. How rendered objects ask for them.

A Service asks for a certificate by naming a Secret of its own namespace. A webhook configuration, a CRD or an
APIService asks for a CA by naming such a Secret. Both names come with the content and are hostile input: a CA is only
injected from a Secret that a Service of the same content names; what asks for anything else is a failure and gets
nothing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rukpak_py.api.metadata import other_injectors
from rukpak_py.api.names import CLUSTER_DOMAIN, INJECT_CA_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION
from rukpak_py.core.ca_bundles import caller_outline, callers
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey

CALLERS = frozenset(
    {
        GroupKind("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        GroupKind("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
        GroupKind("apiregistration.k8s.io", "APIService"),
    }
)
_SERVICE = GroupKind("", "Service")
_ANNOTATIONS = tuple(name.encode() for name in (INJECT_CA_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION))
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


Problem = tuple[ObjectKey, ContentError]


class RenderedObject(NamedTuple):
    key: ObjectKey
    gvk: GroupVersionKind
    body: bytes  # JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedCertificate:
    """One Secret, and the host names of the Services that ask for it."""

    secret: ObjectKey
    hosts: tuple[str, ...]
    service: ObjectKey  # the first of them
    keeps_signer: bool = False  # the key of the authority is stored, and it signs one certificate after the other


@dataclass(frozen=True, kw_only=True, slots=True)
class CaBundleTarget:
    """One object with `caBundle` fields: of these webhooks; a CRD and an APIService have one, without a name."""

    key: ObjectKey
    gvk: GroupVersionKind
    secret: ObjectKey
    webhooks: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class WantedCertificates:
    """All wants of one deployment."""

    certificates: Mapping[ObjectKey, WantedCertificate] = field(default_factory=dict)  # by Secret
    places: Mapping[ObjectKey, CaBundleTarget] = field(default_factory=dict)
    callers: frozenset[ObjectKey] = frozenset()  # all objects of the content that could have a `caBundle`
    problems: tuple[Problem, ...] = ()  # what is asked for and cannot be had: the content is wrong

    def places_of(self, secret: ObjectKey) -> list[CaBundleTarget]:
        return [place for place in self.places.values() if place.secret == secret]


def wanted_certificates(
    rendered: Iterable[RenderedObject], *, cluster_domain: str = CLUSTER_DOMAIN
) -> WantedCertificates:
    rendered = list(rendered)
    annotated = [(one, caller_outline(one.body)) for one in rendered if any(name in one.body for name in _ANNOTATIONS)]
    problems: list[Problem] = []
    taken = {one.key for one in rendered if one.key.group == "" and one.key.kind == "Secret"}
    certificates = _certificates(annotated, taken, problems, cluster_domain)
    return WantedCertificates(
        certificates=certificates,
        places=_places(annotated, certificates, problems),
        callers=frozenset(one.key for one in rendered if one.gvk.group_kind in CALLERS),
        problems=tuple(sorted(problems, key=lambda problem: problem[0])),
    )


def secret_key(namespace: str, name: str) -> ObjectKey:
    return ObjectKey("", "Secret", namespace, name)


_Annotated = Iterable[tuple[RenderedObject, dict[str, Any]]]


def _certificates(
    annotated: _Annotated, taken: set[ObjectKey], problems: list[Problem], cluster_domain: str
) -> dict[ObjectKey, WantedCertificate]:
    found: dict[ObjectKey, WantedCertificate] = {}
    for one, manifest in annotated:
        name = _annotation(manifest, SERVING_CERTIFICATE_ANNOTATION)
        if not name:
            continue
        key = one.key
        secret = secret_key(key.namespace, name)
        problem = _service_problem(one, secret, taken)
        if problem:
            problems.append(_problem(key, SERVING_CERTIFICATE_ANNOTATION, problem))
            continue
        known = found.get(secret)
        host = f"{key.name}.{key.namespace}"
        names = (host, f"{host}.svc", f"{host}.svc.{cluster_domain}")
        hosts = dict.fromkeys([*(known.hosts if known else ()), *names])
        service = known.service if known else key
        found[secret] = WantedCertificate(secret=secret, hosts=tuple(hosts), service=service)
    return found


def _service_problem(one: RenderedObject, secret: ObjectKey, taken: set[ObjectKey]) -> str:
    key = one.key
    if one.gvk.group_kind != _SERVICE:
        return f"it has no effect on a {key.kind}; set it on a Service"
    if not _SUBDOMAIN.fullmatch(secret.name):
        return f"{secret.name[:63]!r} is not a valid Secret name"
    if not _LABEL.fullmatch(key.name) or not _LABEL.fullmatch(key.namespace):
        return "no certificate can name this Service: its name or its namespace is not a DNS label"
    if secret in taken:
        return f"{secret} is in the bundle; remove it from the bundle, or remove the annotation"
    return ""


def _places(
    annotated: _Annotated, certificates: Mapping[ObjectKey, WantedCertificate], problems: list[Problem]
) -> dict[ObjectKey, CaBundleTarget]:
    places: dict[ObjectKey, CaBundleTarget] = {}
    for one, manifest in annotated:
        source = _annotation(manifest, INJECT_CA_ANNOTATION)
        if not source:
            continue
        namespace, _, name = source.partition("/")
        secret = secret_key(namespace, name)
        problem = _caller_problem(one, manifest, source, is_served=secret in certificates)
        if problem:
            problems.append(_problem(one.key, INJECT_CA_ANNOTATION, problem))
            continue
        webhooks = frozenset(caller.name for caller in callers(manifest))
        if webhooks:
            places[one.key] = CaBundleTarget(key=one.key, gvk=one.gvk, secret=secret, webhooks=webhooks)
    return places


def _caller_problem(one: RenderedObject, manifest: dict[str, Any], source: str, *, is_served: bool) -> str:
    if one.gvk.group_kind not in CALLERS:
        return f"a {one.key.kind} has no caBundle"
    others = other_injectors(manifest["metadata"].get("annotations") or {})
    if others:
        return f"{others[0]} is set too; remove one of them: each would overwrite the caBundle of the other"
    if not is_served:
        return (
            f"no Service of the bundle asks for a certificate in Secret {source[:320]!r}; name namespace/secret of one"
        )
    return ""


def _annotation(manifest: dict[str, Any], name: str) -> str:
    return str((manifest["metadata"].get("annotations") or {}).get(name, ""))


def _problem(key: ObjectKey, annotation: str, text: str) -> Problem:
    return key, ContentError(f"{key}: annotation {annotation}: {text}")
