"""Differences that the comparison with helm reports: it must not hide one, nor count random values."""

import base64
from typing import Any

import pytest

from tests.helm_oracle.cases import Step, merged
from tests.helm_oracle.comparing import (
    Difference,
    Differs,
    KeyState,
    by_history,
    differences,
    random_paths,
    secret_keys,
    unasked,
)
from tests.helm_oracle.expected import reason_for
from tests.helm_oracle.snapshot import Snapshot, snapshot_of
from tests.manifests import Document, config_map, manifest, service


def secret(password: str, **metadata: Any) -> Document:
    data = {"password": base64.b64encode(password.encode()).decode()}
    made = manifest("v1", "Secret", "login", "shop", data=data)
    made["metadata"] |= metadata
    return made


def snapshots(*passwords: str) -> list[Snapshot]:
    return [snapshot_of([secret(one)]) for one in passwords]


def told(helm: list[Document], operator: list[Document]) -> list[str]:
    return [str(one) for one in differences(snapshot_of(helm), snapshot_of(operator))]


def test_marks_and_fields_of_the_server_are_no_difference() -> None:
    theirs = secret(
        "a",
        uid="1",
        resourceVersion="7",
        labels={"app.kubernetes.io/managed-by": "Helm"},
        annotations={"meta.helm.sh/release-name": "shop"},
    )
    ours = secret(
        "a",
        uid="2",
        labels={"core.rukpak.io/owner-name": "shop"},
        annotations={"core.rukpak.io/applied": "v2:1:sha256:2"},
        ownerReferences=[{"kind": "BundleDeployment", "name": "shop", "controller": True}],
    )
    assert told([theirs], [ours]) == []


def test_labels_annotations_and_data_are_compared() -> None:
    theirs = config_map("a", "shop", labels={"tier": "web"}, annotations={"note": "x"}, key="1")
    ours = config_map("a", "shop", labels={"tier": "db"}, key="2")
    assert told([theirs], [ours]) == [
        "field: ConfigMap shop/a data.key: helm '1', operator '2'",
        "field: ConfigMap shop/a metadata.annotations.note: helm 'x', operator nothing",
        "field: ConfigMap shop/a metadata.labels.tier: helm 'web', operator 'db'",
    ]


def test_objects_of_one_side() -> None:
    assert told([config_map("a", "shop")], [config_map("b", "shop")]) == [
        "only with helm: ConfigMap shop/a",
        "only with the operator: ConfigMap shop/b",
    ]


def test_ports_are_compared_and_their_node_ports_are_not() -> None:
    theirs, ours = (
        service("a", "shop", clusterIP=f"10.0.0.{number}", ports=[{"port": number, "nodePort": number}])
        for number in (1, 2)
    )
    assert told([theirs], [ours]) == ["field: Service shop/a spec.ports.0.port: helm 1, operator 2"]


def test_objects_of_controllers_and_releases_are_left_out() -> None:
    release = manifest("v1", "Secret", "sh.helm.release.v1.shop.v1", "shop", type="helm.sh/release.v1")
    pod = manifest("v1", "Pod", "a", "shop")
    pod["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "a", "controller": True}]
    assert told([release, pod], []) == []


def test_a_secret_as_rendered_is_compared_as_the_api_server_keeps_it() -> None:
    rendered = manifest("v1", "Secret", "login", "shop", stringData={"password": "a"})
    assert told([rendered], [secret("a")]) == []


@pytest.mark.parametrize(
    ("helm", "operator", "expected"),
    [
        (["a", "a"], ["x", "x"], []),
        (["a", "b"], ["x", "y"], []),
        (["a", "b", "a"], ["x", "y", "x"], []),
        (["a", "a"], ["x", "y"], ["helm the value of step 1, operator a new value"]),
        (["a", "b"], ["x", "x"], ["helm a new value, operator the value of step 1"]),
        (["a", "b", "a"], ["x", "y", "y"], ["helm the value of step 1, operator the value of step 2"]),
    ],
)
def test_a_random_value_is_compared_by_its_history(helm: list[str], operator: list[str], expected: list[str]) -> None:
    theirs, ours = snapshots(*helm), snapshots(*operator)
    random = random_paths(*snapshots("one rendering", "another rendering"))
    found = list(by_history(list(differences(theirs[-1], ours[-1])), theirs, ours, random))
    assert [str(one) for one in found] == [
        f"kept or renewed: Secret shop/login data.password: {text}" for text in expected
    ]


def test_a_value_that_is_not_random_is_compared_as_it_is() -> None:
    theirs, ours = snapshots("a", "a"), snapshots("x", "x")
    random = random_paths(*snapshots("always the same", "always the same"))
    found = list(by_history(list(differences(theirs[-1], ours[-1])), theirs, ours, random))
    assert [one.kind for one in found] == [Differs.FIELD]


def test_key_is_new_kept_renewed_or_gone_after_a_step() -> None:
    states = [
        list(secret_keys(given).values())
        for given in (snapshots("a"), snapshots("a", "a"), snapshots("a", "b"), [*snapshots("a"), snapshot_of([])])
    ]
    assert states == [[KeyState.NEW], [KeyState.KEPT], [KeyState.RENEWED], [KeyState.GONE]]


def test_a_reason_covers_its_chart_and_its_path_only() -> None:
    (key,) = snapshot_of([config_map("facts", "shop")])
    revision = Difference(kind=Differs.FIELD, object=key, path=("data", "revision"))
    assert reason_for("release-facts", Step.UPGRADE, revision) is not None
    assert reason_for("hooks", Step.UPGRADE, revision) is None
    other = Difference(kind=Differs.FIELD, object=key, path=("data", "name"))
    assert reason_for("release-facts", Step.UPGRADE, other) is None


def test_a_reason_for_lost_storage_is_none_otherwise() -> None:
    (key,) = snapshot_of([manifest("v1", "Secret", "random-values", "shop")])
    renewed = Difference(kind=Differs.HISTORY, object=key, path=("data", "password"))
    assert reason_for("random-values", Step.BACK, renewed) is None
    assert reason_for("random-values", Step.BACK, renewed, storage_is_lost=True) is not None


def test_change_between_two_steps_is_reported() -> None:
    (found,) = unasked(snapshot_of([config_map("a", "shop", key="1")]), snapshot_of([config_map("a", "shop", key="2")]))
    assert str(found) == "changed without a step: ConfigMap shop/a data.key before '1', now '2'"


def test_values_over_values_keep_a_null() -> None:
    below = {"a": {"b": 1, "c": {"d": 2}}, "e": [1]}
    assert merged(below, {"a": {"b": None, "c": {"f": 3}}, "e": None}) == {
        "a": {"b": None, "c": {"d": 2, "f": 3}},
        "e": None,
    }
