"""The few fields of a manifest that calls a webhook, read without its schemas."""

from typing import Any

import pytest

from rukpak_py.core.ca_bundles import caller_outline, callers
from rukpak_py.core.objects import canonical_json

SERVICE = {"service": {"name": "hooks", "namespace": "ns"}}


@pytest.mark.parametrize(
    "manifest",
    [
        {"kind": "ValidatingWebhookConfiguration", "webhooks": [{"name": "a", "clientConfig": SERVICE}]},
        {"kind": "CustomResourceDefinition", "spec": {"conversion": {"webhook": {"clientConfig": SERVICE}}}},
        {"kind": "APIService", "spec": {"service": {"name": "a"}}},
        {"kind": "APIService", "spec": {}},
        {"kind": "CustomResourceDefinition", "spec": ["odd"]},
        {"kind": "ValidatingWebhookConfiguration", "webhooks": "odd"},
        {"kind": "CustomResourceDefinition", "spec": {"conversion": 5}},
        {"kind": "Service"},
    ],
    ids=str,
)
def test_outline_says_the_same_as_the_whole(manifest: dict[str, Any]) -> None:
    whole = {"apiVersion": "x/v1", "metadata": {"name": "a", "annotations": {"b": "c"}}, **manifest}
    found = caller_outline(canonical_json(whole))
    assert list(callers(found)) == list(callers(whole))
    assert found["metadata"]["annotations"] == {"b": "c"}


def test_a_schema_is_not_read() -> None:
    versions = [{"schema": {"openAPIV3Schema": {"description": "x" * 100_000}}}]
    body = canonical_json({"kind": "CustomResourceDefinition", "metadata": {}, "spec": {"versions": versions}})
    assert len(str(caller_outline(body))) < 1000
