"""Mistakes in the texts of a chart: templates, values, metadata and crds/.

A case edits the mapping of path to text in place and says whether it could.
"""

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeAlias

from bench.mutations.changes import Case, Change, Document, cases

Edit: TypeAlias = Callable[[str, Random], str | None]
TARGET = "chart"

_FUNCTION = re.compile(r"\b(quote|toYaml|nindent|include|default|trunc|printf)\b(?=[^\n]*\}\})")
_ACTION = re.compile(r"\{\{-?(?! */\*)[^{}\n]+\}\}")
_VALUES = re.compile(r"\.Values\.[A-Za-z]+")
_LINE = re.compile(r"^( {2,})(?=[A-Za-z]+: )", re.MULTILINE)


def _in(pattern: str, edit: Edit) -> Change:
    """Edit one of the files whose path matches."""

    def change(files: Document, random: Random) -> bool:
        fit = [path for path in sorted(files) if re.fullmatch(pattern, path)]
        random.shuffle(fit)
        for path in fit:
            text = edit(files[path], random)
            if text is not None and text != files[path]:
                files[path] = text
                return True
        return False

    return change


def _template(edit: Edit) -> Change:
    return _in(r"templates/[^/]*\.yaml", edit)


def _at_match(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> Edit:
    """Replace a match that chance decides."""

    def edit(text: str, random: Random) -> str | None:
        found = list(pattern.finditer(text))
        if not found:
            return None
        match = random.choice(found)
        return f"{text[: match.start()]}{replace(match)}{text[match.end() :]}"

    return edit


def _line(line: str) -> Edit:
    return lambda text, _: f"{text.rstrip()}\n{line}\n"


def _field(name: str, value: str | None) -> Edit:
    """Set a top-level field of YAML, or remove it."""
    pattern = re.compile(rf"^{name}:.*\n", re.MULTILINE)

    def edit(text: str, _: Random) -> str | None:
        rest = pattern.sub("", text, count=1)
        if value is None:
            return rest if rest != text else None
        return f"{name}: {value}\n{rest}"

    return edit


def _file(path: str, text: str) -> Change:
    def change(files: Document, _: Random) -> bool:
        files[path] = text
        return True

    return change


def _cases(family: str, changes: dict[str, Change]) -> Iterator[Case]:
    return cases(family, TARGET, changes)


CASES = (
    *_cases(
        "templates",
        {
            "unclosed action": _template(_at_match(_ACTION, lambda match: match[0][:-1])),
            "one brace": _template(_at_match(_ACTION, lambda match: match[0][1:])),
            "unknown function": _template(_at_match(_FUNCTION, lambda match: f"{match[0]}s")),
            "end missing": _template(_at_match(re.compile(r"\{\{-? end -?\}\}"), lambda _: "")),
            "end too many": _template(_line("{{ end }}")),
            "if without end": _template(_line("{{ if .Values.extra }}")),
            "template missing": _template(_line('{{ include "absent.name" . }}')),
            "nil value": _template(_line("# {{ .Values.absent.section.name }}")),
            "required": _template(_line('# {{ required "a password is needed" .Values.absentPassword }}')),
            "fail": _template(_line('{{ fail "not supported" }}')),
            "unknown object": _template(_at_match(_VALUES, lambda match: match[0].replace("Values", "Value"))),
            "unfinished pipeline": _template(_line("# {{ .Values.name | }}")),
            "wrong arguments": _template(_line("# {{ trunc }}")),
            "undefined variable": _template(_line("# {{ $absent }}")),
            "quote in an action": _template(_line('# {{ "a }}')),
            "range over a string": _template(_line("# {{ range .Chart.Name }}{{ end }}")),
            "bad number": _template(_line("# {{ index .Values.list 3 }}")),
            "template syntax in define": _file("templates/_extra.tpl", '{{ define "extra" }}no end'),
            "unclosed comment": _template(_line("{{/* a comment }}")),
        },
    ),
    *_cases(
        "YAML of templates",
        {
            "tab": _template(_at_match(_LINE, lambda match: "\t" * (len(match[1]) // 2))),
            "indentation lost": _template(_at_match(_LINE, lambda match: match[1][:-1])),
            "indentation of a block": _template(_at_match(re.compile(r"nindent \d+"), lambda _: "nindent 1")),
            "two colons": _template(_line("note: a: b")),
            "unclosed quote": _template(_line('note: "a')),
            "unclosed bracket": _template(_line("note: [a, b")),
            "bad alias": _template(_line("note: *absent")),
            "colon lost": _template(
                _at_match(re.compile(r"^(\w+): (?=\w)", re.MULTILINE), lambda match: f"{match[1]} ")
            ),
            "text in a manifest": _template(_line("This is no YAML")),
            "kind missing": _file("templates/extra.yaml", "apiVersion: v1\nmetadata:\n  name: extra\n"),
            "name missing": _file("templates/extra.yaml", "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n"),
            "list": _file("templates/extra.yaml", "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"),
            "string": _file("templates/extra.yaml", "just words\n"),
            "key twice": _file(
                "templates/extra.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata: {a: b, a: c}\n",
            ),
            "boolean from a value": _file(
                "templates/extra.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata:\n  debug: {{ true }}\n",
            ),
            "number from a value": _file(
                "templates/extra.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata:\n  port: {{ 8080 }}\n",
            ),
            "empty name from a value": _file(
                "templates/extra.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.absent }}\n"
            ),
            "hook without a name": _file(
                "templates/extra.yaml",
                "apiVersion: batch/v1\nkind: Job\nmetadata:\n  annotations: {helm.sh/hook: pre-install}\n",
            ),
        },
    ),
    *_cases(
        "chart files",
        {
            "version missing": _in("Chart.yaml", _field("version", None)),
            "version": _in("Chart.yaml", _field("version", "one")),
            "version number": _in("Chart.yaml", _field("version", "1.2.3.4")),
            "name missing": _in("Chart.yaml", _field("name", None)),
            "name": _in("Chart.yaml", _field("name", "../a")),
            "apiVersion missing": _in("Chart.yaml", _field("apiVersion", None)),
            "apiVersion": _in("Chart.yaml", _field("apiVersion", "v3")),
            "type": _in("Chart.yaml", _field("type", "app")),
            "library": _in("Chart.yaml", _field("type", "library")),
            "kubeVersion": _in("Chart.yaml", _field("kubeVersion", "'>= 9.0.0'")),
            "kubeVersion unreadable": _in("Chart.yaml", _field("kubeVersion", "newest")),
            "dependency absent": _in(
                "Chart.yaml",
                _field("dependencies", '[{name: store, version: 1.0.0, repository: "https://a.example.com"}]'),
            ),
            "dependencies mapping": _in("Chart.yaml", _field("dependencies", "{name: store}")),
            "maintainers": _in("Chart.yaml", _field("maintainers", "[alice]")),
            "keywords": _in("Chart.yaml", _field("keywords", "shop")),
            "Chart.yaml unreadable": _in("Chart.yaml", _line("a: b: c")),
            "Chart.yaml empty": _file("Chart.yaml", ""),
            "values unreadable": _file("values.yaml", "a: b: c\n"),
            "values tab": _file("values.yaml", "a:\n\tb: c\n"),
            "values list": _file("values.yaml", "- a\n"),
            "schema refuses": _file("values.schema.json", '{"type": "object", "required": ["absent"]}'),
            "schema type": _file("values.schema.json", '{"type": "array"}'),
            "schema no JSON": _file("values.schema.json", "{"),
            "schema unknown type": _file("values.schema.json", '{"type": "mapping"}'),
            "CRD unreadable": _file("crds/extra.yaml", "a: b: c\n"),
            "CRD without name": _file(
                "crds/extra.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {}\n"
            ),
            "CRD with a template": _file(
                "crds/extra.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n"
            ),
            "CRD without versions": _file(
                "crds/extra.yaml",
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
                "metadata: {name: as.example.com}\n"
                "spec: {group: example.com, scope: Namespaced, names: {plural: as, kind: A}}\n",
            ),
        },
    ),
)
