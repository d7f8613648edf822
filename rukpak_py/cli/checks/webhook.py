"""Judgments about the admission webhook: is it called, is there a server, is its certificate trusted and valid."""

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime

from rukpak_py.api.names import (
    BUNDLE_WEBHOOK,
    CA_KEY,
    CLUSTER_DOMAIN,
    CRD_WEBHOOK,
    WEBHOOK_CONFIGURATION,
    WEBHOOK_SERVICE,
    SecretName,
)
from rukpak_py.certificates.own_webhooks import ConfigurationState, OurWebhooks, own_certificate
from rukpak_py.cli.checks.facts import AfterFacts
from rukpak_py.cli.checks.flags import OperatorFlags, flags_of
from rukpak_py.cli.checks.operator import UPGRADE
from rukpak_py.cli.checks.results import Check, CheckResult, Json, Section, Seen, Unread
from rukpak_py.core import x509
from rukpak_py.core.ca_bundles import callers, trusts

CERTIFICATE_KEY = "tls.crt"
RENEWED = (
    "The leader renews it by itself, and at once when its Secret is deleted; see its log when it does not, and which "
    "replica holds the Lease."
)
_CONFIGURATION = Check(Section.WEBHOOK, "webhook-configuration")
_SERVICE = Check(Section.WEBHOOK, "webhook-service")
_CRDS = Check(Section.WEBHOOK, "webhook-for-crds")
_TRUST = Check(Section.WEBHOOK, "webhook-trust")
_CERTIFICATE = Check(Section.WEBHOOK, "serving-certificate")
_AUTHORITY = Check(Section.WEBHOOK, "authority")


def check_webhook(facts: AfterFacts) -> Iterator[CheckResult]:
    flags = flags_of(facts.deployment) if isinstance(facts.deployment, dict) else OperatorFlags()
    webhooks = OurWebhooks(system_namespace=facts.installation.system_namespace, url=flags.webhook_url)
    serving = _certificate(facts.webhook.serving, CERTIFICATE_KEY)
    yield from _configuration(facts, webhooks, serving)
    if not flags.webhook_url:
        yield from _service(facts)
    yield _serving(facts, serving)
    yield _authority(facts)


def _configuration(facts: AfterFacts, webhooks: OurWebhooks, serving: bytes | Unread | None) -> Iterator[CheckResult]:
    about = f"ValidatingWebhookConfiguration.admissionregistration.k8s.io/{WEBHOOK_CONFIGURATION}"
    found = facts.webhook.configuration
    if isinstance(found, Unread):
        yield _CONFIGURATION.unread(found, about)
        return
    state, detail = webhooks.status(found, serving if isinstance(serving, bytes) else None)
    match state:
        case ConfigurationState.MISSING | ConfigurationState.REPLACED:
            yield _CONFIGURATION.error(f"{detail}: the spec of Bundles is not guarded", UPGRADE, about)
            return
        case _:
            yield _CONFIGURATION.ok("the API server calls the webhooks of this operator", about)
    yield _crds(found or {}, webhooks, about)
    yield _trust(found or {}, webhooks, serving, about)


def _crds(configuration: Json, webhooks: OurWebhooks, about: str) -> CheckResult:
    found = next((one for one in callers(configuration) if one.name == CRD_WEBHOOK), None)
    if found is not None and webhooks.calls_us(found):
        return _CRDS.ok("the API server asks this operator about updates of CRDs of BundleDeployments", about)
    what = "is missing" if found is None else "calls another server"
    text = f'webhook "{CRD_WEBHOOK}" {what}: updates of CRDs that the operator does not make are not checked'
    return _CRDS.warning(text, UPGRADE, about)


def _trust(configuration: Json, webhooks: OurWebhooks, serving: bytes | Unread | None, about: str) -> CheckResult:
    hint = "The leader sets caBundle within a second: see its log, and whether another tool resets the field."
    ours = [one for one in callers(configuration) if webhooks.calls_us(one)]
    if empty := [one.name for one in ours if not one.ca_bundle]:
        consequence = "Bundles cannot be created" if BUNDLE_WEBHOOK in empty else "it is not called"
        return _TRUST.error(f"caBundle of {', '.join(empty)} is empty: {consequence}", hint, about)
    if isinstance(serving, Unread):
        return _TRUST.unread(serving, f"Secret {SecretName.SERVING}")
    if serving is None:
        return _TRUST.error("there is no serving certificate to trust", RENEWED, about)
    if not trusts(configuration, serving, is_ours=webhooks.calls_us):
        return _TRUST.error("caBundle is of another authority than the serving certificate", hint, about)
    return _TRUST.ok("caBundle is of the authority of the serving certificate", about)


def _service(facts: AfterFacts) -> Iterator[CheckResult]:
    namespace = facts.installation.system_namespace
    about = f"Service {namespace}/{WEBHOOK_SERVICE}"
    if isinstance(facts.webhook.service, Unread):
        yield _SERVICE.unread(facts.webhook.service, about)
    elif facts.webhook.service is None:
        yield _SERVICE.error("it does not exist: the API server cannot call the operator", UPGRADE, about)
    elif isinstance(facts.webhook.slices, Unread):
        yield _SERVICE.unread(facts.webhook.slices, about)
    else:
        endpoints = [one for found in facts.webhook.slices for one in found.get("endpoints") or ()]
        ready = sum((one.get("conditions") or {}).get("ready") is not False for one in endpoints)
        if ready:
            yield _SERVICE.ok(f"it has {ready} ready endpoint{'' if ready == 1 else 's'}", about)
        else:
            yield _SERVICE.error(
                "it has no ready endpoint: Bundles cannot be created",
                f"See why no pod is ready: kubectl -n {namespace} get pods -l app=core",
                about,
            )


def _serving(facts: AfterFacts, certificate: bytes | Unread | None) -> CheckResult:
    about = f"Secret {facts.installation.system_namespace}/{SecretName.SERVING}"
    if isinstance(certificate, Unread):
        return _CERTIFICATE.unread(certificate, about)
    if certificate is None:
        return _CERTIFICATE.error("it has no certificate", RENEWED, about)
    if (problem := _problem(certificate, facts.server.now)) is not None:
        return _CERTIFICATE.error(problem, RENEWED, about)
    named = own_certificate(facts.installation.system_namespace).hosts
    hosts = [host for host in named if not host.endswith(f".{CLUSTER_DOMAIN}")]  # which is not known here
    if not x509.covers(certificate, hosts):
        return _CERTIFICATE.error("the certificate does not name the Services of the operator", RENEWED, about)
    return _life(_CERTIFICATE, certificate, facts.server.now, about)


def _authority(facts: AfterFacts) -> CheckResult:
    about = f"Secret {facts.installation.system_namespace}/{SecretName.CA}"
    found = _certificate(facts.webhook.authority, CA_KEY)
    if isinstance(found, Unread):
        return _AUTHORITY.unread(found, about)
    if found is None:
        return _AUTHORITY.error("it has no certificate: clients cannot verify the operator", RENEWED, about)
    if (problem := _problem(found, facts.server.now)) is not None:
        return _AUTHORITY.error(problem, RENEWED, about)
    return _life(_AUTHORITY, found, facts.server.now, about)


def _life(check: Check, certificate: bytes, now: datetime, about: str) -> CheckResult:
    end = x509.expiry(certificate)
    days = (end - now).days if end is not None else 0
    left = f"valid for {days} more day{'' if days == 1 else 's'}"
    if x509.needs_rotation(certificate, now):
        return check.warning(f"{left}, and due for renewal", RENEWED, about)
    return check.ok(left, about)


def _problem(certificate: bytes, now: datetime) -> str | None:
    end = x509.expiry(certificate)
    if end is None:
        return "its certificate cannot be read"
    return f"its certificate expired at {end:%Y-%m-%dT%H:%M:%SZ}" if now >= end else None


def _certificate(secret: Seen, key: str) -> bytes | Unread | None:
    if secret is None or isinstance(secret, Unread):
        return secret
    try:
        return base64.b64decode((secret.get("data") or {})[key], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None
