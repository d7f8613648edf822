"""The webhook answers every review, and what is no review gets a text."""

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from rukpak_py.api.names import BUNDLE_WEBHOOK_PATH, CONFIG_MAP_WEBHOOK_PATH
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.server import admission as module
from rukpak_py.server.admission import Admission, webhook_app
from rukpak_py.server.review import BundleObject, ConfigMapObject, read_object
from tests.scrapes import samples

Document = dict[str, Any]
Client = TestClient[Request, Application]

UPLOAD = {"provisionerClassName": "p", "source": {"type": "upload", "upload": {}}}
CONFIG_MAPS = {
    "provisionerClassName": "p",
    "source": {"type": "configMaps", "configMaps": [{"configMap": {"name": "mutable"}, "path": "manifests"}]},
}


class Known:
    """Both ports, answered from what a test knows."""

    async def immutable(self, name: str) -> bool | None:
        if name == "broken":
            raise UnavailableError("the API server does not answer")
        return {"fixed": True, "mutable": False}.get(name)

    async def using(self, config_map: str) -> Sequence[str]:
        return ["b1", "b2"] if config_map == "used" else []


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    admission = Admission(system_namespace="system", config_maps=Known(), bundles=Known())
    async with TestClient(TestServer(webhook_app(admission, Limits(review_bytes=100_000)))) as client:
        yield client


def bundle_review(operation: str = "CREATE", **request: Any) -> Document:
    resource = {"group": "core.rukpak.io", "version": "v1alpha1", "resource": "bundles"}
    return review({"operation": operation, "resource": resource, "name": "b"} | request)


def config_map_review(operation: str, **request: Any) -> Document:
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    return review({"operation": operation, "resource": resource, "namespace": "system", "name": "used"} | request)


def review(request: Document) -> Document:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1"} | request}


def bundle(spec: Document) -> Document:
    return {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": "b"}, "spec": spec}


async def ask(client: Client, path: str, body: Document) -> Document:
    async with client.post(path, json=body) as response:
        assert response.status == 200, await response.text()
        answer = await response.json()
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"]["uid"] == "u-1"
    return dict(answer["response"])


def allowed(response: Document) -> bool:
    assert response["allowed"] is ("status" not in response)
    return bool(response["allowed"])


async def test_a_denial_has_code_reason_and_message(client: Client) -> None:
    other = UPLOAD | {"provisionerClassName": "q"}
    response = await ask(
        client, BUNDLE_WEBHOOK_PATH, bundle_review("UPDATE", object=bundle(other), oldObject=bundle(UPLOAD))
    )
    text = "bundle.spec is immutable"
    details = {"causes": [{"reason": "FieldValueInvalid", "message": text}]}
    assert response == {
        "uid": "u-1",
        "allowed": False,
        "status": {"status": "Failure", "code": 403, "reason": text, "message": text, "details": details},
    }


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_good_bundle_passes(client: Client, dry_run: bool) -> None:  # noqa: FBT001 - a table's column
    body = bundle_review(object=bundle(UPLOAD), oldObject=None, dryRun=dry_run)
    assert allowed(await ask(client, BUNDLE_WEBHOOK_PATH, body))


async def test_deleting_a_bundle_is_nobodys_business(client: Client) -> None:
    assert allowed(await ask(client, BUNDLE_WEBHOOK_PATH, bundle_review("DELETE", oldObject=bundle(UPLOAD))))


async def test_a_mutable_config_map_is_refused(client: Client) -> None:
    response = await ask(client, BUNDLE_WEBHOOK_PATH, bundle_review(object=bundle(CONFIG_MAPS)))
    assert response["status"]["message"] == (
        'bundle.spec.source.configmaps[0].configmap.name is invalid: configmap "mutable" is not immutable;'
        " set immutable: true on it"
    )


async def test_a_config_map_in_use_cannot_be_deleted(client: Client) -> None:
    response = await ask(client, CONFIG_MAP_WEBHOOK_PATH, config_map_review("DELETE"))
    assert response["status"]["reason"] == 'configmap "used" is in-use by bundle "b1"'


@pytest.mark.parametrize("flag", [{"immutable": False}, {"immutable": None}, {}])
async def test_a_config_map_in_use_is_created_immutable(client: Client, flag: Document) -> None:
    config_map = {"metadata": {"name": "used", "namespace": "system"}}
    fixed = config_map_review("CREATE", object=config_map | {"immutable": True})
    assert allowed(await ask(client, CONFIG_MAP_WEBHOOK_PATH, fixed))
    assert not allowed(
        await ask(client, CONFIG_MAP_WEBHOOK_PATH, config_map_review("CREATE", object=config_map | flag))
    )


@pytest.mark.parametrize("change", [{"namespace": "elsewhere"}, {"name": "unused"}])
async def test_other_config_maps_are_free(client: Client, change: Document) -> None:
    assert allowed(await ask(client, CONFIG_MAP_WEBHOOK_PATH, config_map_review("DELETE", **change)))


async def test_updates_of_config_maps_have_no_rule(client: Client) -> None:
    assert allowed(await ask(client, CONFIG_MAP_WEBHOOK_PATH, config_map_review("UPDATE")))


HOSTILE = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "null": b"null",
    "no UTF-8": b'{"apiVersion":"\xff"}',
    "deep": b'{"request":' + b"[" * 50_000,
    "no request": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    "older version": bundle_review(object=bundle(UPLOAD)) | {"apiVersion": "admission.k8s.io/v1beta1"},
    "another kind": bundle_review(object=bundle(UPLOAD)) | {"kind": "ConversionReview"},
    "no uid": review({"uid": "", "operation": "CREATE", "resource": {}}),
    "no object in a create": bundle_review(),
    "null object": bundle_review(object=None),
    "object is a list": bundle_review(object=[]),
    "object is deep": (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",'
        b'"resource":{"group":"core.rukpak.io","resource":"bundles"},"object":{"spec":'
        + b"[" * 30_000
        + b"]" * 30_000
        + b"}}}"
    ),
    "no spec": bundle_review(object={"metadata": {"name": "b"}}),
    "spec of wrong type": bundle_review(object=bundle({"provisionerClassName": 1, "source": []})),
    "no old object in an update": bundle_review("UPDATE", object=bundle(UPLOAD)),
    "subresource": bundle_review("UPDATE", object=bundle(UPLOAD), oldObject=bundle(UPLOAD), subResource="status"),
    "long uid": review({"uid": "u" * 129, "operation": "DELETE", "resource": {}}),
    "another resource of a long name": bundle_review(resource={"group": "", "resource": "p" * 90_000}, object={}),
    "another resource": bundle_review(resource={"group": "", "version": "v1", "resource": "pods"}, object={}),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_body_that_is_no_review_gets_a_text(
    client: Client, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    body = HOSTILE[what]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with client.post(BUNDLE_WEBHOOK_PATH, data=content) as response:
        text = await response.text()
        assert (response.status, response.content_type) == (400, "text/plain")
    assert 0 < len(text) < 1000
    assert len(caplog.text) < 2000
    assert "Traceback" not in text + caplog.text


@pytest.mark.parametrize("config_map", [None, {}, {"metadata": []}, {"metadata": {"name": 1}}])
async def test_a_config_map_without_a_name_gets_a_text(client: Client, config_map: Document | None) -> None:
    body = config_map_review("CREATE", object=config_map)
    async with client.post(CONFIG_MAP_WEBHOOK_PATH, json=body) as response:
        assert response.status == 400


async def test_a_review_over_the_limit_is_refused_by_name(client: Client) -> None:
    async with client.post(BUNDLE_WEBHOOK_PATH, data=b" " * 100_001) as response:
        assert response.status == 413
        assert (
            await response.text()
            == "the admission review exceeds the limit of 100000 bytes (RUKPAK_LIMIT_REVIEW_BYTES sets it)"
        )


async def test_a_bundle_over_the_limit_is_refused_before_it_is_decoded() -> None:
    limits = Limits(object_bytes=1000)
    admission = Admission(system_namespace="system", config_maps=Known(), bundles=Known(), limits=limits)
    items: list[Document] = [{"configMap": {}}] * 100
    body = bundle_review(object=bundle(CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": items}}))
    async with (
        TestClient(TestServer(webhook_app(admission, limits))) as client,
        client.post(BUNDLE_WEBHOOK_PATH, json=body) as response,
    ):
        assert response.status == 413
        assert (await response.text()).startswith("object of the review exceeds the limit of 1000 bytes")


async def test_a_failing_port_is_told_as_unavailable(client: Client) -> None:
    items = [{"configMap": {"name": "broken"}}]
    spec = CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": items}}
    async with client.post(BUNDLE_WEBHOOK_PATH, json=bundle_review(object=bundle(spec))) as response:
        assert response.status == 503
        assert await response.text() == "the API server does not answer"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (bundle_review(object=bundle(UPLOAD)), "allowed"),
        (bundle_review(object=bundle(CONFIG_MAPS)), "denied"),
        (config_map_review("DELETE"), "refused"),
        (
            bundle_review(
                object=bundle(
                    CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": [{"configMap": {"name": "broken"}}]}}
                )
            ),
            "failed",
        ),
    ],
)
async def test_each_review_is_counted_by_its_result(client: Client, body: Document, result: str) -> None:
    def counts() -> dict[str, float]:
        found = samples("rukpak_webhook_request_duration_seconds_count")
        return {dict(labels)["result"]: count for labels, count in found.items() if ("webhook", "bundles") in labels}

    before = counts()
    async with client.post(BUNDLE_WEBHOOK_PATH, json=body) as response:
        await response.read()
    changed = {name: count - before.get(name, 0) for name, count in counts().items() if count != before.get(name, 0)}
    assert changed == {result: 1}


@pytest.mark.parametrize(("method", "path", "status"), [("GET", BUNDLE_WEBHOOK_PATH, 405), ("POST", "/else", 404)])
async def test_other_requests_are_refused(client: Client, method: str, path: str, status: int) -> None:
    async with client.request(method, path) as response:
        assert response.status == status


class Slow(Known):
    """Answers when so many look-ups wait at once, or never."""

    def __init__(self, *, answers_at: int) -> None:
        self._barrier = asyncio.Barrier(answers_at)
        self.most = self.now = 0

    async def immutable(self, name: str) -> bool | None:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self._barrier.wait()
        finally:
            self.now -= 1
        return True


async def ask_slow(port: Slow) -> tuple[int, str]:
    items = [{"configMap": {"name": f"m{number}"}} for number in range(2 * module.LOOK_UPS)]
    spec = CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": items}}
    admission = Admission(system_namespace="system", config_maps=port, bundles=port)
    async with TestClient(TestServer(webhook_app(admission))) as client:
        body = bundle_review(object=bundle(spec))
        async with client.post(BUNDLE_WEBHOOK_PATH, json=body) as response:
            return response.status, await response.text()


async def test_many_config_maps_are_looked_up_some_at_a_time() -> None:
    port = Slow(answers_at=module.LOOK_UPS)
    status, _ = await ask_slow(port)
    assert status == 200
    assert port.most == module.LOOK_UPS


async def test_look_ups_that_take_too_long_are_told_while_the_server_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_UP_SECONDS", 0.05)
    port = Slow(answers_at=module.LOOK_UPS + 1)
    status, text = await ask_slow(port)
    assert (status, port.now) == (503, 0)
    assert "could not be looked up within 0.05 s" in text


async def test_quotes_in_a_denial_are_cut(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    items = [{"configMap": {"name": "m"}, "path": f"../{'x' * 4000}"} for _ in range(20)]
    review = bundle_review(object=bundle(CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": items}}))
    review["request"]["name"] = "n" * 10_000
    response = await ask(client, BUNDLE_WEBHOOK_PATH, review)
    text = response["status"]["message"]
    assert len(text) < 20 * 700
    assert text.startswith('[bundle.spec.source.configmaps[0].path is invalid: "../xxx')
    assert text.endswith('xxx" is outside bundle root]')
    assert len(caplog.text) < 2000


async def test_a_denial_is_logged_once_for_each_object_and_text(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A denied client asks again and again: the operator itself, or a tool that applies what is in git."""
    caplog.set_level("INFO")

    async def deny(path: str, name: str = "b") -> None:
        items = [{"configMap": {"name": "m"}, "path": path}]
        body = bundle_review(object=bundle(CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": items}}))
        body["request"]["name"] = name
        assert not allowed(await ask(client, BUNDLE_WEBHOOK_PATH, body))

    for _ in range(3):
        await deny("../outside")
    await deny("../other")
    await deny("../outside", name="c")
    lines = [line for line in caplog.messages if line.startswith("denied: ")]
    assert [line.partition(" is invalid")[0].partition(":")[2] for line in lines] == [
        " CREATE of bundles 'b': bundle.spec.source.configmaps[0].path",
        " CREATE of bundles 'b': bundle.spec.source.configmaps[0].path",
        " CREATE of bundles 'c': bundle.spec.source.configmaps[0].path",
    ]
    caplog.clear()
    assert allowed(await ask(client, BUNDLE_WEBHOOK_PATH, bundle_review(object=bundle(UPLOAD))))
    await deny("../other")
    assert len([line for line in caplog.messages if line.startswith("denied: ")]) == 1, "it was in order meanwhile"


async def test_an_invalid_name_of_a_config_map_is_not_looked_up() -> None:
    class Counting(Known):
        looked_up: list[str] = []  # noqa: RUF012 - of one test

        async def immutable(self, name: str) -> bool | None:
            self.looked_up.append(name)
            return await super().immutable(name)

    port = Counting()
    admission = Admission(system_namespace="system", config_maps=port, bundles=port)
    items = [{"configMap": {"name": name}} for name in ("a.b-c", "../secrets/x", "A", "x" * 254, "", "é")]
    spec = CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": items}}
    async with TestClient(TestServer(webhook_app(admission))) as client:
        assert allowed(await ask(client, BUNDLE_WEBHOOK_PATH, bundle_review(object=bundle(spec))))
    assert port.looked_up == ["a.b-c"]


async def test_an_update_that_changes_the_spec_costs_no_look_up(client: Client) -> None:
    items = [{"configMap": {"name": "broken"}}]
    new = CONFIG_MAPS | {"source": {"type": "configMaps", "configMaps": items}}
    body = bundle_review("UPDATE", object=bundle(new), oldObject=bundle(CONFIG_MAPS))
    assert (await ask(client, BUNDLE_WEBHOOK_PATH, body))["status"]["message"] == "bundle.spec is immutable"


def test_fields_that_the_rules_do_not_need_are_not_decoded() -> None:
    """Lists of nothing are small as text, and were two orders of magnitude more as objects."""
    empty = b"[" + b",".join([b"[]"] * 300_000) + b"]"
    raw = msgspec.Raw(b'{"metadata":{"name":"m","x":' + empty + b'},"spec":' + json.dumps(UPLOAD).encode() + b"}")
    tracemalloc.start()
    try:
        read_object(raw, "object", BundleObject)
        read_object(raw, "object", ConfigMapObject)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000
