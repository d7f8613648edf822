"""Rules of an API server for parts of a CustomResourceDefinition: columns, scaling, conversion, deprecation."""

import re
from collections.abc import Iterator
from typing import Any, Final

from rukpak_py.formats import dns
from rukpak_py.formats.crds.definitions import preserves_unknown_fields
from rukpak_py.formats.crds.written import WrittenDefinition
from rukpak_py.formats.json_fields import Json, at, entries, mapping, text
from rukpak_py.formats.rules import Family, Problem
from rukpak_py.formats.urls import parts_of

FAMILY: Family[WrittenDefinition] = Family(
    title="Parts of CustomResourceDefinitions", origin="Kubernetes, by way of operator-framework/api"
)

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_WARNING_BYTES: Final = 256
_HIGHEST_PORT: Final = 65535
_WEBHOOK: Final = ("spec", "conversion", "webhook")
_FIELD: Final = re.compile(r"\.([^.\[]++)")
_NOT_SIMPLE: Final = "must be a simple json path starting with ."
_ONLY_WITH_WEBHOOK: Final = "Forbidden: should not be set when strategy is not set to Webhook"


@FAMILY.rule(
    "RV1-320",
    title="Printer columns have a name, a type and a simple path",
    hint="A column is `name`, `type` (string, integer, number, boolean or date) and `jsonPath` beginning with a dot: "
    "`.status.phase`.",
)
def columns_are_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    for version_path, version in definition.versions:
        for below, column in entries(version, "additionalPrinterColumns"):
            for field, reason in _column_reasons(column):
                yield definition.problem(reason, *version_path, *below, field)


def _column_reasons(column: Json) -> Iterator[tuple[str, str]]:
    column_type, column_format, path = (text(column, key) for key in ("type", "format", "jsonPath"))
    if not text(column, "name"):
        yield "name", "Required value"
    if not column_type:
        yield "type", f"Required value: must be one of {','.join(_COLUMN_TYPES)}"
    elif column_type not in _COLUMN_TYPES:
        yield "type", f'Invalid value: "{column_type}": must be one of {",".join(_COLUMN_TYPES)}'
    if column_format and column_format not in _COLUMN_FORMATS:
        yield "format", f'Invalid value: "{column_format}": must be one of {",".join(_COLUMN_FORMATS)}'
    if not path:
        yield "jsonPath", "Required value"
    elif not path.startswith("."):
        yield "jsonPath", f'Invalid value: "{path}": {_NOT_SIMPLE}'


@FAMILY.rule(
    "RV1-321",
    title="The paths of the scale subresource lead into spec and status",
    hint="specReplicasPath begins with `.spec.`, labelSelectorPath with `.spec.` or `.status.`.",
)
def scaling_is_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    for version_path, version in definition.versions:
        value = at(version, "subresources", "scale")
        if isinstance(value, dict):
            for field, reason in _scale_reasons(value):
                yield definition.problem(reason, *version_path, "subresources", "scale", field)


def _scale_reasons(scale: Json) -> Iterator[tuple[str, str]]:
    replicas, selector = text(scale, "specReplicasPath"), text(scale, "labelSelectorPath")
    if not replicas:
        yield "specReplicasPath", "Required value"
    elif not replicas.startswith("."):
        yield "specReplicasPath", f'Invalid value: "{replicas}": {_NOT_SIMPLE}'
    elif not replicas.startswith(".spec."):
        yield "specReplicasPath", f'Invalid value: "{replicas}": should be a json path under .spec'
    if selector and not selector.startswith("."):
        yield "labelSelectorPath", f'Invalid value: "{selector}": {_NOT_SIMPLE}'
    elif selector and not selector.startswith((".spec.", ".status.")):
        yield "labelSelectorPath", f'Invalid value: "{selector}": should be a json path under either .spec or .status'


@FAMILY.rule(
    "RV1-326",
    title="Selectable fields are in the schema, each once",
    hint="Write the path of a field of type string, boolean or integer as the schema has it: `.spec.color`.",
)
def selectable_fields_exist(definition: WrittenDefinition) -> Iterator[Problem]:
    for version_path, version in definition.versions:
        paths = set[str]()
        for below, selected in entries(version, "selectableFields"):
            path = text(selected, "jsonPath")
            if reason := _selection_reason(path, paths, mapping(version, "schema", "openAPIV3Schema")):
                yield definition.problem(reason, *version_path, *below, "jsonPath")
            paths.add(path)


def _selection_reason(path: str, earlier: set[str], schema: Json) -> str:
    if not path:
        return "Required value"
    if path in earlier:
        return f'Duplicate value: "{path}"'
    shown = f'Invalid value: "{path}": '
    if re.search(r"\[\d", path):
        return f"{shown}is an invalid path: array notation is not allowed"
    if not path.startswith((".", "[")):
        return f"{shown}is an invalid path: expected [ or . but got: {path[0]}"
    for name in _fields_of(path):
        schema = mapping(schema, "properties", name)
    if not schema or path.startswith(".metadata"):
        return f"{shown}is an invalid path: does not refer to a valid field"
    if text(schema, "type") not in {"string", "boolean", "integer"}:
        return f"{shown}must point to a field of type string, boolean or integer"
    return ""


def _fields_of(path: str) -> Iterator[str]:
    """`.a["b"]` is a and b; what is neither is skipped."""
    position = end = 0  # `end`: the first `]` behind the bracket that was looked at last
    while position < len(path):
        start, position = position, position + 1
        if field := _FIELD.match(path, start):
            yield field[1]
            position = field.end()
        elif end >= 0 and path.startswith(('["', "['"), start):
            end = path.find("]", start + 2) if end < start + 2 else end
            if end > start + 2 and path[end - 1] in "\"'":
                yield path[start + 2 : end - 1]
                position = end + 1


@FAMILY.rule(
    "RV1-322",
    title="A deprecationWarning belongs to a deprecated version, and is printable",
    hint="Set `deprecated: true`, and write one line of at most 256 bytes, or leave the warning to the server.",
)
def deprecation_warnings_are_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    for path, version in definition.versions:
        warning = version.get("deprecationWarning")
        if isinstance(warning, str) and (
            reason := _warning_reason(warning, is_deprecated=version.get("deprecated") is True)
        ):
            yield definition.problem(f'Invalid value: "{warning}": {reason}', *path, "deprecationWarning")


def _warning_reason(warning: str, *, is_deprecated: bool) -> str:
    if not is_deprecated:
        return "can only be set for deprecated versions"
    if not warning:
        return "must not be an empty string"
    if len(warning.encode(errors="surrogatepass")) > _WARNING_BYTES:
        return f"must be <= {_WARNING_BYTES} characters long"
    return "" if warning.isprintable() else "must only contain printable UTF-8 characters"


@FAMILY.rule(
    "RV1-323",
    title="The conversion strategy is None or Webhook",
    hint="Write `strategy: None`, or `strategy: Webhook` with its `webhook`, or leave `conversion` out. "
    "Webhooks convert only where unknown fields are pruned.",
)
def the_conversion_strategy_is_known(definition: WrittenDefinition) -> Iterator[Problem]:
    if definition.spec.get("conversion") is None:
        return
    strategy = text(definition.spec, "conversion", "strategy")
    reason = ""
    if not strategy:
        reason = "Required value"
    elif strategy not in {"None", "Webhook"}:
        reason = f'Unsupported value: "{strategy}": supported values: "None", "Webhook"'
    elif strategy == "Webhook" and preserves_unknown_fields(definition):
        reason = 'Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true'
    if reason:
        yield definition.problem(reason, "spec", "conversion", "strategy")


@FAMILY.rule(
    "RV1-324",
    title="A conversion webhook has a clientConfig; other strategies have none",
    hint="With `strategy: Webhook` give clientConfig either a `service` (name, namespace, path, port) or an "
    "https `url`; with `strategy: None` remove the webhook.",
)
def the_conversion_client_is_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    if definition.spec.get("conversion") is None:
        return
    client = at(definition.document.manifest, *_WEBHOOK, "clientConfig")
    for below, reason in _client_reasons(client, is_webhook=_converts_by_webhook(definition)):
        yield definition.problem(reason, *_WEBHOOK, "clientConfig", *below)


def _client_reasons(client: Any, *, is_webhook: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    if not is_webhook:
        if client is not None:
            yield (), _ONLY_WITH_WEBHOOK
        return
    if not isinstance(client, dict):
        yield (), "Required value: required when strategy is set to Webhook"
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield (), "Required value: exactly one of url or service is required"
    elif isinstance(url, str):
        yield from ((("url",), reason) for reason in _url_reasons(url))
    elif isinstance(service, dict):
        yield from ((("service", field), reason) for field, reason in _service_reasons(service))


def _url_reasons(url: str) -> Iterator[str]:
    parts = parts_of(url)
    shown = f'Invalid value: "{url}": '
    desired = "; desired format: https://host[/path]"
    if parts is None:
        yield f"Required value: url must be a valid URL{desired}"
        return
    if parts.scheme != "https":
        yield f"{shown}'https' is the only allowed URL scheme{desired}"
    if not parts.host:
        yield f"{shown}host must be specified{desired}"
    if parts.user:
        yield f"{shown}user information is not permitted in the URL"
    if parts.fragment:
        yield f"{shown}fragments are not permitted in the URL"
    if parts.query:
        yield f"{shown}query parameters are not permitted in the URL"


def _service_reasons(service: Json) -> Iterator[tuple[str, str]]:
    for field in ("name", "namespace"):
        if not text(service, field):
            yield field, "Required value"
    port = service.get("port")
    if isinstance(port, int) and not 1 <= port <= _HIGHEST_PORT:
        yield "port", f"Invalid value: {port}: port is not valid: must be between 1 and {_HIGHEST_PORT}, inclusive"
    path = text(service, "path")
    for reason in _url_path_reasons(path):
        yield "path", f'Invalid value: "{path}": {reason}'


def _url_path_reasons(path: str) -> Iterator[str]:
    if path in {"", "/"}:
        return
    if not path.startswith("/"):
        yield "must start with a '/'"
        return
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            yield f"segment[{index}] may not be empty"
        elif reasons := dns.subdomain(segment):
            yield f"segment[{index}]: {','.join(reasons)}"


@FAMILY.rule(
    "RV1-325",
    title="A conversion webhook lists its conversionReviewVersions",
    hint="List the versions of ConversionReview that the webhook answers: `conversionReviewVersions: [v1]`.",
)
def review_versions_are_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    if definition.spec.get("conversion") is None:
        return
    given = at(definition.document.manifest, *_WEBHOOK, "conversionReviewVersions")
    versions = (
        [version or "" for version in given if isinstance(version, str | None)] if isinstance(given, list) else []
    )
    for below, reason in _review_reasons(versions, is_webhook=_converts_by_webhook(definition)):
        yield definition.problem(reason, *_WEBHOOK, "conversionReviewVersions", *below)


def _review_reasons(versions: list[str], *, is_webhook: bool) -> Iterator[tuple[tuple[int, ...], str]]:
    if not is_webhook:
        if versions:
            yield (), _ONLY_WITH_WEBHOOK
        return
    if not versions:
        yield (), "Required value"
        return
    earlier = set[str]()
    for index, version in enumerate(versions):
        if version in earlier:
            yield (index,), f'Invalid value: "{version}": duplicate version'
        elif reasons := dns.dns_1035_label(version):
            yield (index,), f'Invalid value: "{version}": {",".join(reasons)}'
        earlier.add(version)
    if not any(version in _REVIEW_VERSIONS for version in versions):
        shown = ", ".join(versions)
        yield (), f"Invalid value: [{shown}]: must include at least one of {', '.join(_REVIEW_VERSIONS)}"


def _converts_by_webhook(definition: WrittenDefinition) -> bool:
    return text(definition.spec, "conversion", "strategy") == "Webhook"
