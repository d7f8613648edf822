"""Options are a value: equal specs have equal digests, and what was installed comes back as it was."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import Installation, RecordedOptions, RecordedValues
from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.install_options import (
    NO_OVERRIDE,
    RECORDED_CONFIG_BYTES,
    InstallOptions,
    config_digest,
    installed_options,
    mean_the_same,
    options_of,
    override_of,
    recognised,
    recorded,
    restore,
    with_config_digest,
)
from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.core.objects import ObjectKey

PATCH = {"target": {"kind": "ConfigMap", "labelSelector": {"matchLabels": {"a": "b"}}}, "patch": "data: {a: null}"}
CLAIM = {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data", "prune": True}
WEB = {"group": "apps", "kind": "Deployment", "name": "web", "force": True}
TEMPLATE = {"spec": {"provisionerClassName": "x", "source": {"type": "upload", "upload": {}}}}
LARGE = {"values": "x" * RECORDED_CONFIG_BYTES}


def options(**spec: Any) -> InstallOptions:
    body = {"spec": {"provisionerClassName": PLAIN_CLASS, "template": TEMPLATE, **spec}}
    return options_of(read_bundle_deployment(body).spec)


def entry(**fields: Any) -> Installation:
    return msgspec.convert({"bundle": "b", "digest": "d", "time": "t", **fields}, Installation)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"installNamespace": "", "createNamespace": False, "overrides": [], "watchNamespaces": [], "patches": []},
        {"provisionerClassName": "core.rukpak.io/plain"},
        {"config": {}},
        {"overrides": [{"kind": "ConfigMap", "name": "a"}]},
        {"suspend": True, "adopt": "IfUnowned", "crdSafety": "Warn", "prune": {"enabled": False}},
        {"wait": {"timeout": "10m"}, "dependsOn": [{"name": "a"}]},
    ],
)
def test_defaults_have_no_digest(spec: dict[str, Any]) -> None:
    assert options(**spec).digest == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"overrides": [CLAIM, WEB]}, {"overrides": [WEB, CLAIM]}),
        ({"overrides": [WEB]}, {"overrides": [{**WEB, "namespace": ""}]}),
        ({"config": {"a": 1, "b": 2}}, {"config": {"b": 2, "a": 1}}),
        ({"installNamespace": "a"}, {"installNamespace": "a", "createNamespace": False}),
        ({"watchNamespaces": ["b", "a"]}, {"watchNamespaces": ["a", "b"]}),
        ({"provisionerClassName": "core.rukpak.io/registry"}, {"provisionerClassName": REGISTRY_CLASS}),
    ],
)
def test_specs_that_mean_the_same_have_the_same_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert options(**one).digest == options(**other).digest != ""


def test_every_option_changes_the_digest() -> None:
    specs: list[dict[str, Any]] = [
        {},
        {"installNamespace": "a"},
        {"installNamespace": "b"},
        {"installNamespace": "a", "createNamespace": True},
        {"overrides": [WEB]},
        {"overrides": [{**WEB, "force": False}]},
        {"overrides": [WEB, CLAIM]},
        {"config": {"a": 1}},
        {"config": {"a": None}},
        {"provisionerClassName": REGISTRY_CLASS},
        {"watchNamespaces": ["a"]},
        {"watchNamespaces": [""]},
        {"patches": [PATCH]},
        {"patches": [{**PATCH, "patch": "data: {}"}]},
        {"patches": [PATCH, PATCH]},
        {"patches": [{**PATCH, "target": {"kind": "ConfigMap", "labelSelector": {}}}]},
    ]
    digests = [options(**spec).digest for spec in specs]
    assert len(set(digests)) == len(specs)


def test_the_digest_of_an_option_is_the_same_in_every_release() -> None:
    """Another one would render and apply everything again after an upgrade of the operator."""
    expected = "sha256:f086ee55f783031cddf247d5f17f61c3241a2b386abaa1fd9a0ced52d8699200"
    assert options(installNamespace="shop").digest == expected


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"installNamespace": "a", "createNamespace": True},
        {"overrides": [CLAIM, WEB]},
        {"patches": [PATCH]},
        {"config": {"values": {"deep": [1, 2.5, None, "x"]}}},
    ],
)
def test_recorded_options_come_back_whatever_the_spec_says_now(spec: dict[str, Any]) -> None:
    installed = options(**spec)
    stored = msgspec.convert(to_json(recorded(installed)), RecordedOptions)
    assert restore(stored, options(installNamespace="other", config={"other": 1})) == installed


@pytest.mark.parametrize(("config", "is_inline"), [({"values": "x"}, True), (LARGE, False)])
def test_a_large_configuration_is_recorded_as_its_digest(config: dict[str, Any], *, is_inline: bool) -> None:
    stored = recorded(options(config=config))
    assert stored.inline_config == (config if is_inline else None)
    assert stored.config_digest == config_digest(config)
    assert restore(stored, options(config=config)) == options(config=config)


NULLS = {"values": {"a": None, "b": [{"c": None, "d": 1}]}}
STORED = {"values": {"b": [{"d": 1}]}}  # by a merge patch


def test_nulls_of_a_configuration_come_back() -> None:
    assert restore(recorded(options(config=NULLS)), options()) == options(config=NULLS)


def test_nulls_that_a_former_release_lost_come_back_while_the_spec_has_them() -> None:
    former = RecordedOptions(config=STORED)
    assert restore(former, options(config=NULLS)) == options(config=NULLS)
    assert restore(former, options(config={"values": {"b": 2}})) == options(config=STORED)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (RecordedOptions(config=STORED), recorded(options(config=NULLS)), True),
        (recorded(options(config=NULLS)), RecordedOptions(config=STORED), True),
        (RecordedOptions(config=STORED), recorded(options(config={"values": {"b": 2}})), False),
        (recorded(options(config=NULLS)), recorded(options(config=STORED)), False),
        (RecordedOptions(config={}), recorded(options()), True),
        (RecordedOptions(), recorded(options(config=NULLS)), False),
        (recorded(options(config=NULLS)), with_config_digest(recorded(options(config=NULLS))), True),
        (RecordedOptions(config=STORED), with_config_digest(recorded(options(config=STORED))), True),
        (RecordedOptions(config=STORED), with_config_digest(recorded(options(config=NULLS))), False),
        (RecordedOptions(config=STORED), recorded(options(config=NULLS, installNamespace="a")), False),
        (None, None, True),
        (None, RecordedOptions(), False),
    ],
    ids=[
        "former and present form",
        "present and former form",
        "former form of another configuration",
        "nulls tell one from another in the present form",
        "a configuration that was nulls only",
        "none and some",
        "its digest alone",
        "former form and its digest",
        "former form and the digest of what has nulls",
        "another option",
        "neither is recorded",
        "one is not recorded",
    ],
)
def test_records_mean_the_same(one: RecordedOptions | None, other: RecordedOptions | None, *, expected: bool) -> None:
    assert mean_the_same(one, other) is expected


@pytest.mark.parametrize("now", [{}, {"config": {"values": "y"}}, {"config": {**LARGE, "one": "more"}}])
def test_a_configuration_known_by_its_digest_is_lost_with_the_spec_that_had_it(now: dict[str, Any]) -> None:
    assert restore(recorded(options(config=LARGE)), options(**now)) is None


def values(*digests: str, current: str = "") -> tuple[RecordedValues, ...]:
    return tuple(
        RecordedValues(kind="Secret", name=f"n{number}", key="k", digest=digest, current_digest=current)
        for number, digest in enumerate(digests)
    )


def test_values_from_elsewhere_are_recorded_as_digests_and_make_other_options() -> None:
    installed = InstallOptions(config={"valuesFrom": []}, values_from=values("hmac-sha256:a:1"))
    stored = msgspec.convert(to_json(recorded(installed)), RecordedOptions)
    assert restore(stored, options()) == installed
    assert len({installed.digest, replace(installed, values_from=values("hmac-sha256:a:2")).digest}) == 2


def test_a_digest_under_a_new_key_is_the_same_installation() -> None:
    before = InstallOptions(values_from=values("hmac-sha256:a:1"))
    after = InstallOptions(values_from=values("hmac-sha256:a:1", current="hmac-sha256:b:1"))
    assert before.digest == after.digest
    assert mean_the_same(recorded(before), recorded(after))
    assert not mean_the_same(recorded(before), None)
    assert not mean_the_same(recorded(before), recorded(InstallOptions(values_from=values("hmac-sha256:a:2"))))


A1, A2, B1, B2, C1 = (f"hmac-sha256:{key}:{number}" for key, number in ("a1", "a2", "b1", "b2", "c1"))


@pytest.mark.parametrize(
    ("found", "installed", "expected"),
    [
        (values(A1), (), values(A1)),
        (values(A1), values(A1), values(A1)),
        (values(A2), values(A1), values(A2)),
        (values(B1), values(A1), values(A1, current=B1)),  # the key was lost: taken for the same, and noted
        (values(B1), values(A1, current=B1), values(A1, current=B1)),
        (values(B2), values(A1, current=B1), values(B2)),  # changed since
        (values(C1), values(A1, current=B1), values(A1, current=C1)),  # lost again
        (values(A1, A2), values(A1), values(A1, A2)),
        (values(), values(A1), ()),
    ],
)
def test_values_are_recognised_also_when_the_key_of_their_digests_is_lost(
    found: tuple[RecordedValues, ...], installed: tuple[RecordedValues, ...], expected: tuple[RecordedValues, ...]
) -> None:
    assert recognised(found, installed) == expected


def test_an_entry_without_options_counts_with_those_of_the_spec() -> None:
    now = options(installNamespace="a", config={"values": "now"})
    assert installed_options(entry(), now) == now
    assert installed_options(entry(config={"values": "then"}), now) == options(
        installNamespace="a", config={"values": "then"}
    )


def test_an_entry_with_default_options_counts_with_the_defaults() -> None:
    now = options(installNamespace="a", config={"values": "now"})
    assert installed_options(entry(options={}), now) == InstallOptions()
    assert installed_options(entry(options={"installNamespace": "then"}), now) == options(installNamespace="then")


def test_an_empty_record_is_not_the_absence_of_one() -> None:
    written = to_json(Installation(bundle="b", digest="d", time="t", options=recorded(InstallOptions())))
    assert written["options"] == {}


ANYWHERE = Override(kind="ConfigMap", name="a", prune=True)
ELSEWHERE = Override(kind="ConfigMap", namespace="other", name="a", prune=False)
HERE = Override(kind="ConfigMap", namespace="home", name="a", force=True)
CLUSTER_SCOPED = Override(kind="Namespace", name="a", prune=True)


@pytest.mark.parametrize(
    ("overrides", "key", "expected"),
    [
        ([], ("", "ConfigMap", "home", "a"), NO_OVERRIDE),
        ([ANYWHERE], ("", "ConfigMap", "home", "a"), ANYWHERE),
        ([ANYWHERE, ELSEWHERE], ("", "ConfigMap", "other", "a"), ELSEWHERE),
        ([ANYWHERE], ("", "ConfigMap", "other", "a"), NO_OVERRIDE),
        ([ANYWHERE, HERE], ("", "ConfigMap", "home", "a"), HERE),
        ([ANYWHERE], ("", "ConfigMap", "home", "b"), NO_OVERRIDE),
        ([ANYWHERE], ("", "Secret", "home", "a"), NO_OVERRIDE),
        ([ANYWHERE], ("core.example.org", "ConfigMap", "home", "a"), NO_OVERRIDE),
        ([CLUSTER_SCOPED], ("", "Namespace", "", "a"), CLUSTER_SCOPED),
    ],
)
def test_most_specific_override_of_an_object_is_used(
    overrides: list[Override], key: tuple[str, str, str, str], expected: Override
) -> None:
    assert override_of(overrides, ObjectKey(*key), install_namespace="home") == expected


def test_list_of_accepted_secrets_is_no_option_of_a_chart() -> None:
    """Else each list would be an upgrade of what is installed by itself."""
    accepted = {"acceptNewSecrets": ["a/b"]}
    for config in ({}, {"values": "a: 1"}):
        with_list = options(provisionerClassName=HELM_CLASS, config=config | accepted)
        assert with_list == options(provisionerClassName=HELM_CLASS, config=config)
        assert recorded(with_list) == recorded(options(provisionerClassName=HELM_CLASS, config=config))
    assert options(provisionerClassName=REGISTRY_CLASS, config=accepted).config == accepted
