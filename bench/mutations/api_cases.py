"""Mistakes in CRDs, in webhook configurations and in the webhook definitions of a CSV."""

from collections.abc import Iterator
from random import Random
from typing import Any

from bench.mutations.changes import Case, Change, Document, add, both, cases, drop, put, rename, twice

_SERVICE = {"name": "web", "namespace": "default", "path": "/validate"}
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def _schema(change: Change, *, kind: str = "") -> Change:
    """Change a schema of some property of some version: of the type, where one is asked for."""

    def changed(crd: Document, random: Random) -> bool:
        found = [one for one in _properties(crd) if not kind or one.get("type") == kind]
        return bool(found) and change(random.choice(found), random)

    return changed


def _properties(crd: Document) -> Iterator[Document]:
    spec = crd.get("spec")
    for version in (spec.get("versions") if isinstance(spec, dict) else None) or ():
        root = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for name, schema in (root.get("properties") or {}).items():
            if name not in {"apiVersion", "kind", "metadata"}:
                yield from _below(schema)


def _below(schema: Any) -> Iterator[Document]:
    if not isinstance(schema, dict):
        return
    yield schema
    for below in (schema.get("properties") or {}).values():
        yield from _below(below)
    yield from _below(schema.get("items"))


def _new_property(schema: Document) -> Change:
    return _schema(put("properties.extra", schema), kind="object")


def _second_version(crd: Document, _: Random) -> bool:
    """A second version, stored too."""
    versions = crd.get("spec", {}).get("versions") or []
    if not versions:
        return False
    versions.append({**versions[0], "name": "v9", "storage": True, "served": True})
    return True


def _no_storage(crd: Document, _: Random) -> bool:
    for version in crd.get("spec", {}).get("versions") or ():
        version["storage"] = False
    return bool(crd.get("spec", {}).get("versions"))


def _webhooks(kind: str) -> Iterator[Case]:
    yield from cases(
        "webhooks",
        kind,
        {
            "sideEffects": put("webhooks[].sideEffects", "none", "Some", "NoneOnDryrun"),
            "sideEffects missing": drop("webhooks[].sideEffects"),
            "review versions missing": drop("webhooks[].admissionReviewVersions"),
            "review versions": put("webhooks[].admissionReviewVersions", [], ["v2"], ["v1beta2"]),
            "review versions string": put("webhooks[].admissionReviewVersions", "v1"),
            "timeout": put("webhooks[].timeoutSeconds", 0, 31, 60, -1),
            "timeout string": put("webhooks[].timeoutSeconds", "10s", "10"),
            "failurePolicy": put("webhooks[].failurePolicy", "fail", "Ignored"),
            "matchPolicy": put("webhooks[].matchPolicy", "exact", "Equal"),
            "operation": put("webhooks[].rules", [{**_RULE, "operations": ["create"]}], [{**_RULE, "operations": []}]),
            "rule without resources": put("webhooks[].rules", [{**_RULE, "resources": []}]),
            "rule without groups": put("webhooks[].rules", [{**_RULE, "apiGroups": []}]),
            "rule without versions": put("webhooks[].rules", [{**_RULE, "apiVersions": []}]),
            "rule scope": put("webhooks[].rules", [{**_RULE, "scope": "namespaced"}], [{**_RULE, "scope": "All"}]),
            "rule wildcard": put("webhooks[].rules", [{**_RULE, "resources": ["*", "pods"]}]),
            "http url": put("webhooks[].clientConfig", {"url": "http://web.example.com/x"}),
            "url with user": put("webhooks[].clientConfig", {"url": "https://user@web.example.com/x"}),
            "url with query": put("webhooks[].clientConfig", {"url": "https://web.example.com/x?y=1"}),
            "url and service": put("webhooks[].clientConfig", {"url": "https://a.example.com", "service": _SERVICE}),
            "client config empty": put("webhooks[].clientConfig", {}),
            "client config missing": drop("webhooks[].clientConfig"),
            "service path": put("webhooks[].clientConfig", {"service": {**_SERVICE, "path": "validate"}}),
            "service port": put("webhooks[].clientConfig", {"service": {**_SERVICE, "port": 70000}}),
            "service without name": put("webhooks[].clientConfig", {"service": {"namespace": "default"}}),
            "service without namespace": put("webhooks[].clientConfig", {"service": {"name": "web"}}),
            "caBundle": put("webhooks[].clientConfig.caBundle", "not base64!", "YQ=="),
            "name": put("webhooks[].name", "validate", "Validate_Pods", "a.b"),
            "name twice": twice("webhooks"),
            "selector operator": put(
                "webhooks[].namespaceSelector", {"matchExpressions": [{"key": "a", "operator": "Not", "values": ["b"]}]}
            ),
            "selector value": put("webhooks[].objectSelector", {"matchLabels": {"a": "b c"}}),
            "condition": put("webhooks[].matchConditions", [{"name": "a", "expression": "object.metadata.name =="}]),
            "condition name": put("webhooks[].matchConditions", [{"name": "a b", "expression": "true"}]),
            "condition type": put("webhooks[].matchConditions", [{"name": "a", "expression": "1 + 1"}]),
            "webhooks mapping": put("webhooks", {"name": "a.b.c"}),
        },
    )


CASES = (
    *cases(
        "CRDs",
        "CustomResourceDefinition",
        {
            "name": put("metadata.name", "widgets", "widget.example.com", "Widgets.example.com"),
            "group": put("spec.group", "other.example.com", "Example", ""),
            "group missing": drop("spec.group"),
            "scope": put("spec.scope", "namespaced", "Namespace", "Global"),
            "scope missing": drop("spec.scope"),
            "plural": put("spec.names.plural", "Widgets", "others", ""),
            "kind missing": drop("spec.names.kind"),
            "kind lower": put("spec.names.kind", "my_kind", "my kind"),
            "short name": put("spec.names.shortNames", ["W"], ["a_b"], "w"),
            "names missing": drop("spec.names"),
            "versions missing": drop("spec.versions"),
            "versions empty": put("spec.versions", []),
            "two storage versions": _second_version,
            "no storage version": _no_storage,
            "version name": put("spec.versions[].name", "V1", "1.0", "v1_0"),
            "version twice": twice("spec.versions"),
            "served missing": drop("spec.versions[].served"),
            "served string": put("spec.versions[].served", "true"),
            "preserveUnknownFields": put("spec.preserveUnknownFields", True),
            "schema missing": drop("spec.versions[].schema"),
            "schema empty": put("spec.versions[].schema", {"openAPIV3Schema": {}}),
            "root type": put("spec.versions[].schema.openAPIV3Schema.type", "string", "array"),
            "old validation": put("spec.validation", {"openAPIV3Schema": {"type": "object"}}),
            "version of apiVersion": put("apiVersion", "apiextensions.k8s.io/v1beta1"),
            "conversion without config": put("spec.conversion", {"strategy": "Webhook"}),
            "conversion strategy": put("spec.conversion", {"strategy": "webhook"}, {"strategy": "Auto"}),
            "conversion config": put(
                "spec.conversion", {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}
            ),
            "conversion without versions": put(
                "spec.conversion", {"strategy": "Webhook", "webhook": {"clientConfig": {"service": _SERVICE}}}
            ),
            "conversion path": put(
                "spec.conversion",
                {
                    "strategy": "Webhook",
                    "webhook": {
                        "conversionReviewVersions": ["v1"],
                        "clientConfig": {"service": {**_SERVICE, "path": "convert"}},
                    },
                },
            ),
            "column without path": put("spec.versions[].additionalPrinterColumns", [{"name": "A", "type": "string"}]),
            "column type": put(
                "spec.versions[].additionalPrinterColumns",
                [{"name": "A", "type": "text", "jsonPath": ".spec.a"}],
                [{"name": "A", "type": "int", "jsonPath": ".spec.a"}],
            ),
            "column path": put(
                "spec.versions[].additionalPrinterColumns", [{"name": "A", "type": "string", "jsonPath": "spec..[a"}]
            ),
            "old column": put(
                "spec.versions[].additionalPrinterColumns", [{"name": "A", "type": "string", "JSONPath": ".spec.a"}]
            ),
            "scale": put("spec.versions[].subresources", {"scale": {"specReplicasPath": "replicas"}}),
            "scale path": put(
                "spec.versions[].subresources",
                {"scale": {"specReplicasPath": ".replicas", "statusReplicasPath": ".status.replicas"}},
            ),
            "subresources list": put("spec.versions[].subresources", ["status"]),
            "selectable field": put("spec.versions[].selectableFields", [{"jsonPath": ".spec.absent"}]),
            "deprecation": put("spec.versions[].deprecationWarning", "old"),
        },
    ),
    *cases(
        "CRD schemas",
        "CustomResourceDefinition",
        {
            "type missing": _schema(drop("type")),
            "type": _schema(put("type", "int", "map", "String", "float", "list", "date", "any")),
            "type list": _schema(put("type", ["string", "null"])),
            "array without items": _new_property({"type": "array"}),
            "items list": _new_property({"type": "array", "items": [{"type": "string"}]}),
            "default type": _new_property({"type": "integer", "default": "5"}),
            "default string": _new_property({"type": "string", "default": 5}),
            "default boolean": _new_property({"type": "boolean", "default": "true"}),
            "default enum": _new_property({"type": "string", "enum": ["a", "b"], "default": "c"}),
            "default minimum": _new_property({"type": "integer", "minimum": 1, "default": 0}),
            "default pattern": _new_property({"type": "string", "pattern": "^a+$", "default": "b"}),
            "default object": _new_property({"type": "object", "default": "x"}),
            "default unknown field": _new_property(
                {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": "x"}}
            ),
            "default required": _new_property(
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "default": {}}
            ),
            "pattern": _new_property({"type": "string", "pattern": "^(a"}),
            "pattern with lookahead": _new_property({"type": "string", "pattern": "^(?!a).*$"}),
            "pattern class": _new_property({"type": "string", "pattern": "[z-a]"}),
            "map list without keys": _new_property(
                {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}
            ),
            "map list of strings": _new_property(
                {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                }
            ),
            "map list with unknown key": _new_property(
                {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                }
            ),
            "map list key optional": _new_property(
                {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["a"],
                }
            ),
            "list type": _new_property({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "Set"}),
            "list type of a string": _new_property({"type": "string", "x-kubernetes-list-type": "set"}),
            "set of objects": _new_property(
                {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                    "x-kubernetes-list-type": "set",
                }
            ),
            "map type": _new_property({"type": "object", "x-kubernetes-map-type": "Atomic"}),
            "properties and additional": _new_property(
                {
                    "type": "object",
                    "properties": {"a": {"type": "string"}},
                    "additionalProperties": {"type": "string"},
                }
            ),
            "additional false": _new_property({"type": "object", "additionalProperties": False}),
            "$ref": _new_property({"$ref": "#/definitions/a"}),
            "int or string": _new_property({"type": "string", "x-kubernetes-int-or-string": True}),
            "preserve of a string": _new_property({"type": "string", "x-kubernetes-preserve-unknown-fields": True}),
            "preserve false": _new_property({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
            "required string": _new_property({"type": "object", "required": "a"}),
            "required twice": _new_property({"type": "object", "required": ["a", "a"]}),
            "enum twice": _new_property({"type": "string", "enum": ["a", "a"]}),
            "enum string": _new_property({"type": "string", "enum": "a"}),
            "enum empty": _new_property({"type": "string", "enum": []}),
            "enum type": _new_property({"type": "integer", "enum": ["a"]}),
            "uniqueItems": _new_property({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            "minimum string": _new_property({"type": "integer", "minimum": "1"}),
            "minLength negative": _new_property({"type": "string", "minLength": -1}),
            "maxItems string": _new_property({"type": "array", "items": {"type": "string"}, "maxItems": "5"}),
            "minimum above maximum": _new_property({"type": "integer", "minimum": 5, "maximum": 1}),
            "nullable string": _new_property({"type": "string", "nullable": "true"}),
            "anyOf with type": _new_property({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            "oneOf with properties": _new_property(
                {"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}}]}
            ),
            "anyOf description": _new_property(
                {"type": "string", "anyOf": [{"pattern": "a", "description": "with an a"}]}
            ),
            "default in anyOf": _new_property({"type": "string", "anyOf": [{"pattern": "a", "default": "a"}]}),
            "properties list": _new_property({"type": "object", "properties": [{"name": "a"}]}),
            "description list": _schema(put("description", ["a", "b"])),
            "metadata default": put(
                "spec.versions[].schema.openAPIV3Schema.properties.metadata",
                {"type": "object", "default": {"name": "a"}},
                {"type": "string"},
                {"type": "object", "properties": {"labels": {"type": "object"}}},
            ),
            "format": _new_property({"type": "string", "format": "int-or-string"}),
            "embedded without object": _new_property({"type": "string", "x-kubernetes-embedded-resource": True}),
        },
    ),
    *cases(
        "CEL",
        "CustomResourceDefinition",
        {
            name: _new_property({"type": kind, "x-kubernetes-validations": [rule]})
            for name, kind, rule in (
                ("unfinished", "integer", {"rule": "self >"}),
                ("one equals sign", "integer", {"rule": "self = 5"}),
                ("parenthesis", "string", {"rule": "self.startsWith('a'"}),
                ("quote", "string", {"rule": "self == 'a"}),
                ("and", "integer", {"rule": "self > 1 and self < 5"}),
                ("unknown function", "string", {"rule": "self.length() > 5"}),
                ("unknown variable", "integer", {"rule": "value > 5"}),
                ("wrong operand", "string", {"rule": "self > 5"}),
                ("no boolean", "integer", {"rule": "self + 1"}),
                ("empty", "integer", {"rule": ""}),
                ("without rule", "integer", {"message": "must be five"}),
                ("unknown field", "object", {"rule": "self.absent == 'a'"}),
                ("message lines", "integer", {"rule": "self > 1", "message": "a\nb"}),
                ("reason", "integer", {"rule": "self > 1", "reason": "Bad"}),
                ("field path", "integer", {"rule": "self > 1", "fieldPath": ".a[b"}),
                ("message expression", "integer", {"rule": "self > 1", "messageExpression": "self +"}),
                ("pattern", "string", {"rule": "self.matches('(a')"}),
                (
                    "cost",
                    "string",
                    {"rule": "'a'.matches(self) && self.split('').all(x, self.split('').all(y, x == y))"},
                ),
            )
        },
    ),
    *_webhooks("ValidatingWebhookConfiguration"),
    *_webhooks("MutatingWebhookConfiguration"),
    *cases(
        "webhooks",
        "MutatingWebhookConfiguration",
        {"reinvocation": put("webhooks[].reinvocationPolicy", "never", "Always")},
    ),
    *cases(
        "webhooks",
        "WebhookDefinition",
        {
            "type": put("type", "validating", "ValidatingWebhook", "Admission"),
            "type missing": drop("type"),
            "sideEffects": put("sideEffects", "none", "NoSideEffects"),
            "sideEffects missing": drop("sideEffects"),
            "review versions": put("admissionReviewVersions", [], ["v2"], ["v1beta3"]),
            "review versions string": put("admissionReviewVersions", "v1"),
            "review versions missing": drop("admissionReviewVersions"),
            "timeout": put("timeoutSeconds", 0, 31, 60, -1),
            "timeout string": put("timeoutSeconds", "10", "10s"),
            "failurePolicy": put("failurePolicy", "fail", "Ignored"),
            "matchPolicy": put("matchPolicy", "exact", "Equal"),
            "path": put("webhookPath", "validate", "https://a.example.com/x", "/a//b"),
            "deployment": put("deploymentName", "absent"),
            "deployment missing": drop("deploymentName"),
            "containerPort": put("containerPort", 0, 70000, -1),
            "containerPort string": put("containerPort", "443"),
            "targetPort": put("targetPort", 0, 70000, "https_port", "HTTPS"),
            "generateName": put("generateName", "validate", "Validate_Pods"),
            "generateName missing": drop("generateName"),
            "operation": put("rules", [{**_RULE, "operations": ["create"]}], [{**_RULE, "operations": []}]),
            "rule scope": put("rules", [{**_RULE, "scope": "namespaced"}]),
            "rule resources": put("rules", [{**_RULE, "resources": []}]),
            "rule groups": put("rules", [{**_RULE, "apiGroups": "apps"}], [{**_RULE, "apiGroups": []}]),
            "rules mapping": put("rules", _RULE),
            "selector": put("objectSelector", {"matchExpressions": [{"key": "a", "operator": "Not", "values": ["b"]}]}),
            "selector value": put("objectSelector", {"matchLabels": {"a": "b c"}}),
            "reinvocation": both(put("type", "MutatingAdmissionWebhook"), put("reinvocationPolicy", "never")),
            "conversion": put("conversionCRDs", ["absent.example.com"]),
            "conversion type": put("type", "ConversionWebhook"),
            "rules missing": drop("rules"),
            "path misspelt": rename("webhookPath", "path"),
            "versions number": add("admissionReviewVersions", 1),
        },
    ),
)
