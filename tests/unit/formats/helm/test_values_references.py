"""`spec.config.valuesFrom`: what it may say, and the sentence about what it may not."""

from typing import Any

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.helm.settings import ValuesReference, references_of, refers_to

SECRET: dict[str, Any] = {"kind": "Secret", "name": "a"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ()),
        ({"valuesFrom": None, "values": "a: 1"}, ()),
        ({"valuesFrom": []}, ()),
        ({"valuesFrom": [SECRET]}, (ValuesReference(kind="Secret", name="a", key="values.yaml"),)),
        (
            {"valuesFrom": [{"kind": "ConfigMap", "name": "b.c-1", "key": "prod.yaml", "optional": True}, SECRET]},
            (
                ValuesReference(kind="ConfigMap", name="b.c-1", key="prod.yaml", is_optional=True),
                ValuesReference(kind="Secret", name="a"),
            ),
        ),
        ({"valuesFrom": [{**SECRET, "key": None, "optional": None}]}, (ValuesReference(kind="Secret", name="a"),)),
        ({"valuesFrom": [SECRET] * 16}, (ValuesReference(kind="Secret", name="a"),) * 16),
    ],
)
def test_references(config: dict[str, Any], expected: tuple[ValuesReference, ...]) -> None:
    assert references_of(config) == expected


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"kind": "Secret"}, "spec.config.valuesFrom must be a list, got an object"),
        ([SECRET] * 17, "spec.config.valuesFrom has 17 entries; at most 16 are allowed"),
        (["a"], "spec.config.valuesFrom[0] must be an object, got a string"),
        ([{"name": "a"}], "spec.config.valuesFrom[0].kind must be Secret or ConfigMap, got nothing"),
        ([{**SECRET, "kind": "Pod"}], "spec.config.valuesFrom[0].kind must be Secret or ConfigMap, got 'Pod'"),
        ([{"kind": "Secret"}], "spec.config.valuesFrom[0].name must be the name of a Secret, got nothing"),
        ([{**SECRET, "name": 5}], "spec.config.valuesFrom[0].name must be the name of a Secret, got a number"),
        ([{**SECRET, "name": "../pods/x"}], "name must be the name of a Secret, got '../pods/x'"),
        ([{**SECRET, "name": "x" * 300}], "name must be the name of a Secret, got 'xxx"),
        (
            [{**SECRET, "name": "rukpak-ca-signer"}],
            (
                "spec.config.valuesFrom[0].name: Secret rukpak-ca-signer holds keys or certificates of the operator, "
                "so nothing may refer to it: name another Secret"
            ),
        ),
        *(
            (
                [{**SECRET, "name": name, "optional": True}],
                f"Secret {name} holds keys or certificates of the operator",
            )
            for name in ("rukpak-ca", "rukpak-serving", "rukpak-digest-key")
        ),
        ([{**SECRET, "key": "a/b"}], "spec.config.valuesFrom[0].key must be the key of a Secret, got 'a/b'"),
        ([{**SECRET, "key": ""}], "spec.config.valuesFrom[0].key must be the key of a Secret, got ''"),
        ([{**SECRET, "optional": "true"}], "spec.config.valuesFrom[0].optional must be true or false, got a string"),
        (
            [{**SECRET, "namespace": "kube-system"}],
            (
                "spec.config.valuesFrom[0] has the unknown field 'namespace'; "
                "an entry has kind, name, key and optional, and the object is in the system namespace, or with "
                "spec.serviceAccountName in spec.installNamespace"
            ),
        ),
        (
            [SECRET, {"kind": "Pod"}, 5],
            (
                "spec.config.valuesFrom[1].kind must be Secret or ConfigMap, got 'Pod' && "
                "spec.config.valuesFrom[2] must be an object, got a number"
            ),
        ),
    ],
)
def test_invalid_references_are_refused_by_name(entries: object, text: str) -> None:
    with pytest.raises(ContentError) as caught:
        references_of({"valuesFrom": entries})
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, False),
        ({"valuesFrom": "nonsense"}, False),
        ({"valuesFrom": [5, {"kind": "ConfigMap", "name": "a"}, {"kind": "Secret", "name": "b"}]}, False),
        ({"valuesFrom": [5, {**SECRET, "wrong": 1}]}, True),
    ],
)
def test_config_refers_to_an_object(config: dict[str, Any] | None, *, expected: bool) -> None:
    assert refers_to(config, "Secret", "a") is expected


def test_a_config_map_may_have_the_name_of_a_secret_of_the_operator() -> None:
    entry = {"kind": "ConfigMap", "name": "rukpak-ca"}
    assert references_of({"valuesFrom": [entry]}) == (ValuesReference(kind="ConfigMap", name="rukpak-ca"),)
