"""Helm fetches nothing for a schema, with or without a network namespace, however the schema is written."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.formats.helm import process
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.formats.validation import validate
from tests.unit.charts import METADATA, chart, config_map, packed, rendered

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DEEP = 1_500


class Elsewhere:
    """A web server on loopback and a file: what was asked of the server is recorded, and what is in the file shows."""

    def __init__(self, file: Path) -> None:
        self.requests: list[str] = []
        self.file = file.as_uri()
        file.write_text('{"not": {}, "title": "CANARY"}')  # no value fits it, so that its being read shows
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"not": {}}')

            def log_message(self, *_: object) -> None:
                """The test says what matters."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/schema.json"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    found = Elsewhere(tmp_path / "elsewhere.json")
    found.start()
    yield found
    found.stop()


@pytest.fixture(params=["network namespace", "no network namespace"])
def _network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, as in a restricted pod, and without the dead proxy, so that loopback can be reached."""
    if request.param == "network namespace":
        return
    monkeypatch.setattr(process, "_HAS_NETWORK", True)


def _nested(schema: str, depth: int) -> str:
    return '{"not":' * depth + schema + "}" * depth


def _schemas(place: str) -> dict[str, bytes]:
    """Schemas that lead to the place, by what is odd about them."""
    quoted = json.dumps(place)
    plain = f'{{"$ref": {quoted}}}'
    return {
        "plain": plain.encode(),
        "byte order mark": b"\xef\xbb\xbf" + plain.encode(),
        "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbf" + plain.encode(),
        "UTF-16": plain.encode("utf-16"),
        "invalid UTF-8": f'{{"title": "\xff", "$ref": {quoted}}}'.encode("latin-1"),
        "lone surrogate": f'{{"title": "\\ud800", "$ref": {quoted}}}'.encode(),
        "depth": f'{{"$defs": {{"a": {_nested("{}", DEEP)}}}, "$ref": {quoted}}}'.encode(),
        "its own $id in an enum": f'{{"enum": [{{"$id": {quoted}}}], "$ref": {quoted}}}'.encode(),
        "its own $id in a default": f'{{"default": {{"$id": {quoted}}}, "$ref": {quoted}}}'.encode(),
        "its own $id beside $ref": f'{{"$schema": "{DRAFT_7}", "$id": {quoted}, "$ref": {quoted}}}'.encode(),
        "id": f'{{"id": {quoted}, "$ref": {quoted}}}'.encode(),
        "escaped": f'{{"\\u0024ref": {quoted}}}'.encode(),
        "a key that is given again": f'{{"$ref": "#", "\\u0024ref": {quoted}}}'.encode(),
        "$schema": f'{{"$schema": {quoted}}}'.encode(),
        "$schema below": f'{{"$defs": {{"a": {{"$id": "x", "$schema": {quoted}}}}}}}'.encode(),
        "$dynamicRef": f'{{"$dynamicRef": {quoted}}}'.encode(),
        "$recursiveRef": f'{{"$recursiveRef": {quoted}}}'.encode(),
        "relative to an $id": f'{{"$id": {json.dumps(place.rpartition("/")[0] + "/")}, "$ref": "x.json"}}'.encode(),
        "by pointer": f'{{"$ref": "#/odd", "odd": {{"$ref": {quoted}}}}}'.encode(),
        "an $id with a fragment": f'{{"$id": {json.dumps(place + "#a")}, "not": {{"$ref": "#b"}}}}'.encode(),
        "on json-schema.org": b'{"$ref": "http://json-schema.org/none"}',
    }


ODDITIES = tuple(_schemas(""))


@pytest.mark.usefixtures("_network")
@pytest.mark.parametrize(
    ("oddity", "is_subchart"),
    [*((oddity, False) for oddity in ODDITIES), *((oddity, True) for oddity in ("plain", "byte order mark", "depth"))],
)
def test_nothing_is_fetched(helm: HelmProgram, elsewhere: Elsewhere, oddity: str, *, is_subchart: bool) -> None:
    folder, values = ("charts/db/", "db: {a: 1}") if is_subchart else ("", "a: 1")
    for place in (elsewhere.url, elsewhere.file):
        files: dict[str, Any] = {
            "templates/a.yaml": config_map("a"),
            f"{folder}Chart.yaml": METADATA.replace("web", "db" if is_subchart else "web"),
            f"{folder}values.schema.json": _schemas(place)[oddity],
            "values.yaml": values,
        }
        found = rendered(helm, chart(files), values=(ValuesDocument(document=values),))

        assert found.unchecked, place
        assert [one.head.name for one in found.objects] == ["a"]
        assert "HELM-105" in [finding.rule for finding in validate(chart(files))]
    assert elsewhere.requests == []


def test_a_packed_subchart_is_read_too(helm: HelmProgram, elsewhere: Elsewhere) -> None:
    sub = packed({"Chart.yaml": METADATA.replace("web", "sub"), "values.schema.json": f'{{"$ref": "{elsewhere.url}"}}'})
    tree = chart({"templates/a.yaml": config_map("a"), "charts/sub-1.0.0.tgz": sub})

    assert rendered(helm, tree, values=(ValuesDocument(document="sub: {a: 1}"),)).unchecked == (elsewhere.url,)


def _own_schemas(place: str) -> list[dict[str, Any]]:
    """References of all drafts that begin with `#`, whatever `$id` says."""
    number = {"type": "object", "properties": {"a": {"type": "string"}}}
    return [
        {"$schema": schema, key: place, "allOf": [{"$ref": "#/definitions/a"}], "definitions": {"a": number}}
        for schema, key in (
            ("http://json-schema.org/draft-04/schema#", "id"),
            (DRAFT_7, "$id"),
            ("https://json-schema.org/draft/2019-09/schema", "$id"),
            ("https://json-schema.org/draft/2020-12/schema", "$id"),
        )
    ] + [
        {"allOf": [{"$ref": "#/odd/a"}], "odd": {"a": {"$id": place, "allOf": [{"$ref": "#/b"}], "b": number}}},
        {"allOf": [{"$ref": "#/enum/0"}], "enum": [{"$id": place, "allOf": [{"$ref": "#/b"}], "b": number}, {"a": 1}]},
        {"allOf": [{"$id": place, "$ref": "#/$defs/b", "$defs": {"b": number}}]},
        {"$schema": DRAFT_7, "allOf": [{"$id": place, "$ref": "#/b"}], "b": number},
        {"$defs": {"x": {"$id": place, "$dynamicAnchor": "n", **number}}, "allOf": [{"$ref": "#/$defs/x"}]},
        {"$id": place, "$defs": {"n": {"$anchor": "n", **number}}, "allOf": [{"$ref": "#n"}]},
    ]


@pytest.mark.usefixtures("_network")
@pytest.mark.parametrize("number", range(len(_own_schemas(""))))
def test_a_schema_that_refers_to_itself_is_used_and_nothing_is_fetched(
    helm: HelmProgram, elsewhere: Elsewhere, number: int
) -> None:
    for place in (elsewhere.url, elsewhere.file):
        files = {"values.schema.json": json.dumps(_own_schemas(place)[number])}

        with pytest.raises(Exception, match="values: web: ") as caught:
            rendered(helm, chart(files), values=(ValuesDocument(document="a: 1"),))
        assert "got number, want string" in str(caught.value)
        assert "CANARY" not in str(caught.value)
    assert elsewhere.requests == []
