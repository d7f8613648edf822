"""Work of Kopf for each event, beside calling our handler."""

import kopf

from rukpak_py.operator.kopf_shell import _settings


def test_kopf_copies_and_compares_nothing_of_an_object() -> None:
    body = kopf.Body({"metadata": {"name": "a", "labels": {"b": "c"}}, "spec": {"large": ["x"] * 100}})
    storage = _settings().persistence.diffbase_storage
    assert storage.build(body=body) == {}
    assert storage.fetch(body=body) is None
