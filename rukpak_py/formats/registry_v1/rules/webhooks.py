"""Rules for webhook definitions: what an API server refuses of them, or no installer installs."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, Final, TypeAlias

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Fix, Profile, Severity
from rukpak_py.formats.json_fields import mapping
from rukpak_py.formats.object_rules.judged import port_names
from rukpak_py.formats.object_rules.ports import TARGET_PORT, TARGET_PORT_HINT, is_missing
from rukpak_py.formats.registry_v1.bundle import RegistryBundle, Webhook, WebhookType
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[RegistryBundle] = Family(title="What a cluster refuses: webhooks", origin="Kubernetes")

_Told: TypeAlias = tuple[Path, str]  # where in the definition, and what is wrong there

_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "sideEffects": ("None", "NoneOnDryRun"),
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_REQUIRED: Final = ("sideEffects", "admissionReviewVersions")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_SEGMENTS: Final = 3  # of the name of an admission webhook: `validate.gadgets.example.com`
_HIGHEST_PORT: Final = 65535
_LONGEST_WAIT: Final = 30
_LIKENESS: Final = 0.85


@FAMILY.rule(
    "RV1-937",
    title="The type of a webhook is known",
    hint=f"Write one of {', '.join(WebhookType)}: a webhook of another type is not installed.",
    severity=Severity.WARNING,
    origin="rukpak-py",
)
def types_are_known(bundle: RegistryBundle) -> Iterator[Problem]:
    for webhook in bundle.csv.webhooks:
        if webhook.type not in set(WebhookType):
            (near,) = get_close_matches(webhook.type, list(WebhookType), n=1) or [""]
            # AdmissionWebhook may be one of two.
            is_slip = bool(near) and bool(get_close_matches(webhook.type, [near], cutoff=_LIKENESS))
            yield Problem(
                message=f"webhook '{webhook.generate_name}' is of the unknown type '{webhook.type}': it is left out",
                place=bundle.csv.document.place(*webhook.path, "type"),
                hint=f"Did you mean `type: {near}`?" if near else None,
                fix=Fix(text=near) if is_slip else None,
            )


@FAMILY.rule(
    "RV1-938",
    title="The fields of a webhook have values that a cluster accepts",
    hint="Correct the value: a cluster refuses the whole webhook configuration.",
    error_only_in=Profile.DEFAULT,
)
def values_are_known(bundle: RegistryBundle) -> Iterator[Problem]:
    for webhook in bundle.csv.webhooks:
        if webhook.type not in set(WebhookType):
            continue  # it is left out
        found: Iterator[_Told] = _of_calling(webhook)
        if webhook.type != WebhookType.CONVERSION:
            found = chain(found, _of_admission(webhook), _of_rules(webhook))
        for path, problem in found:
            yield Problem(
                message=f"webhook '{webhook.generate_name}': {problem}",
                place=bundle.csv.document.place(*webhook.path, *path),
            )


@FAMILY.rule(
    "RV1-939",
    title="A webhook has a path",
    hint="Give `webhookPath`, as `/validate-example-com-v1-gadget`; write `/` if the server answers there.",
    severity=Severity.WARNING,
    origin="rukpak-py",
)
def webhooks_have_paths(bundle: RegistryBundle) -> Iterator[Problem]:
    for webhook in bundle.csv.webhooks:
        if webhook.type in set(WebhookType) and not webhook.webhook_path:
            yield Problem(
                message=f"webhook '{webhook.generate_name}' has no webhookPath: the API server calls `/`",
                place=bundle.csv.document.place(*webhook.path),
            )


@FAMILY.further_check(TARGET_PORT, hint=TARGET_PORT_HINT, severity=Severity.WARNING)
def target_ports_are_ports(bundle: RegistryBundle) -> Iterator[Problem]:
    named = {entry.name: port_names(mapping(entry.spec, "template")) for entry in bundle.csv.deployments}
    for webhook in bundle.csv.webhooks:
        names, port = named.get(webhook.deployment_name), webhook.target_port
        if names is not None and isinstance(port, str) and is_missing(port, [names]):
            message = f"targetPort '{port[:80]}' of webhook '{webhook.generate_name}' is not a port of deployment "
            message += f"'{webhook.deployment_name}'"
            yield Problem(message=message, place=bundle.csv.document.place(*webhook.path, "targetPort"))


def _of_calling(webhook: Webhook) -> Iterator[_Told]:
    path, target = webhook.webhook_path, webhook.target_port
    if path is not None and not path.startswith("/"):
        yield ("webhookPath",), f"webhookPath '{path}' must begin with /"
    if webhook.container_port > _HIGHEST_PORT:
        yield ("containerPort",), f"containerPort {webhook.container_port} must be between 1 and {_HIGHEST_PORT}"
    if isinstance(target, int) and not 0 <= target <= _HIGHEST_PORT:  # 0 is not given: the port of the Service
        yield ("targetPort",), f"targetPort {target} must be between 1 and {_HIGHEST_PORT}"


def _of_admission(webhook: Webhook) -> Iterator[_Told]:
    name = webhook.generate_name
    if name and len(name.split(".")) < _SEGMENTS:
        yield ("generateName",), f"generateName '{name}' must have three segments or more, separated by dots"
    for field in _REQUIRED:
        if not webhook.typed.get(field):
            yield (field,), f"{field} is missing"
    for field, choices in _CHOICES.items():
        if problem := _unknown(field, webhook.typed.get(field), choices):
            yield (field,), problem
    wait = webhook.typed.get("timeoutSeconds")
    if isinstance(wait, int) and not 1 <= wait <= _LONGEST_WAIT:
        yield ("timeoutSeconds",), f"timeoutSeconds {wait} must be between 1 and {_LONGEST_WAIT}"


def _of_rules(webhook: Webhook) -> Iterator[_Told]:
    for index, rule in enumerate(webhook.typed.get("rules") or []):
        for number, operation in enumerate((rule or {}).get("operations") or []):
            if problem := _unknown("operation", operation, _OPERATIONS):
                yield ("rules", index, "operations", number), problem
        if problem := _unknown("scope", (rule or {}).get("scope"), _SCOPES):
            yield ("rules", index, "scope"), problem


def _unknown(field: str, value: Any, choices: Sequence[str]) -> str:
    """The error for an unknown value; none for one that is not given: there are defaults, or reading told it."""
    return "" if not value or value in choices else f"{field} '{value}' must be one of {', '.join(choices)}"
