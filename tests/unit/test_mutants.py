"""The mutants of the benchmark of our validation: changes do what they say, and every case has a mutant."""

from random import Random

import pytest

from bench.mutations.changes import Change, Document, add, drop, put, put_all, rename, twice
from bench.mutations.judging import template
from bench.mutations.mutants import CASES, MANIFEST_CASES, draw
from bench.mutations.sources import CHARTS, Sort, Source, chart_of_texts, own, written
from rukpak_py.content import yaml

RANDOM = Random(1)  # noqa: S311 - a seed, no secret
RULE: Document = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
CSV: Document = {
    "apiVersion": "operators.coreos.com/v1alpha1",
    "kind": "ClusterServiceVersion",
    "metadata": {"name": "shop.v1.0.0"},
    "spec": {
        "install": {
            "strategy": "deployment",
            "spec": {
                "deployments": [
                    {
                        "name": "shop",
                        "spec": {
                            "selector": {"matchLabels": {"app": "shop"}},
                            "template": {
                                "metadata": {"labels": {"app": "shop"}},
                                "spec": {"containers": [{"name": "shop", "image": "shop"}]},
                            },
                        },
                    }
                ],
                "permissions": [
                    {
                        "serviceAccountName": "shop",
                        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
                    }
                ],
            },
        },
        "webhookdefinitions": [{"type": "ValidatingAdmissionWebhook", "generateName": "a.b.c", "sideEffects": "None"}],
    },
}
CSV_FILE = "manifests/csv.yaml"
TURNS = 8  # a case may choose a part that it does not fit


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (put("a.b", 5), {}, {"a": {"b": 5}}),
        (put("a[].b", 5), {"a": [{"b": 1}]}, {"a": [{"b": 5}]}),
        (put_all({"a": 1, "b.c": 2}), {"a": 0}, {"a": 1, "b": {"c": 2}}),
        (drop("a.b"), {"a": {"b": 1, "c": 2}}, {"a": {"c": 2}}),
        (add("a", {"b": 1}), {}, {"a": [{"b": 1}]}),
        (add("a", {"b": 1}), {"a": [{"b": 0}]}, {"a": [{"b": 0}, {"b": 1}]}),
        (twice("a"), {"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 1}]}),
        (rename("a", "b"), {"a": 1}, {"b": 1}),
    ],
)
def test_change_edits_the_field(change: Change, before: Document, after: Document) -> None:
    assert change(before, RANDOM)
    assert before == after


@pytest.mark.parametrize(
    ("change", "document"),
    [
        (put("a[].b", 5), {"a": []}),
        (put("a.b", 5), {"a": "text"}),
        (drop("a"), {}),
        (twice("a"), {"a": []}),
        (add("a", 1), {"a": {}}),
        (rename("a", "b"), {}),
    ],
)
def test_change_that_does_not_fit_says_so(change: Change, document: Document) -> None:
    assert not change(document, RANDOM)


@pytest.mark.parametrize("is_kept_back", [False, True])
def test_cases_of_manifests_have_mutants_of_our_own_manifests(is_kept_back: bool) -> None:  # noqa: FBT001 - a case
    cases = [case for case in MANIFEST_CASES if case.target != "WebhookDefinition"]
    source = own(Sort.PLAIN, is_kept_back=is_kept_back)
    found = {mutant.case for mutant in draw([source], cases, 1, turns=TURNS)}
    assert {case.family for case in cases} == {case.family for case in found}
    assert len(found) > 0.95 * len(cases)  # some need a field that only one of the two sources has


def test_cases_of_both_sources_together_are_all_cases_of_manifests() -> None:
    cases = [case for case in MANIFEST_CASES if case.target != "WebhookDefinition"]
    both = [own(Sort.PLAIN, is_kept_back=is_kept_back) for is_kept_back in (False, True)]
    assert set(cases) == {mutant.case for mutant in draw(both, cases, 1, turns=TURNS)}


def test_cases_of_charts_have_mutants_of_charts() -> None:
    cases = [case for case in CASES if case.target == "chart"]
    charts = [chart_of_texts(path) for paths in CHARTS.values() for path in paths]
    assert {case.name for case in cases} == {mutant.case.name for mutant in draw(charts, cases, 1, turns=TURNS)}


@pytest.mark.parametrize("target", ["Deployment", "container", "Role", "WebhookDefinition"])
def test_parts_of_a_csv_are_changed_in_the_csv(target: str) -> None:
    source = csv_source()
    mutants = list(draw([source], [case for case in MANIFEST_CASES if case.target == target], 1, turns=TURNS))
    assert mutants
    for mutant in mutants:
        csv = yaml.load(mutant.files[CSV_FILE])
        assert csv != CSV
        assert csv["metadata"] == CSV["metadata"]


def test_pull_policy_of_a_csv_is_changed() -> None:
    cases = [case for case in MANIFEST_CASES if case.name == "imagePullPolicy"]
    mutant = next(draw([csv_source()], cases, 1, turns=TURNS))
    deployment = yaml.load(mutant.files[CSV_FILE])["spec"]["install"]["spec"]["deployments"][0]
    assert deployment["name"] == "shop"
    assert deployment["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] not in {"Always", "IfNotPresent"}


def test_same_seed_gives_the_same_mutants() -> None:
    source = own(Sort.CHARTS, is_kept_back=False)
    cases = [case for case in MANIFEST_CASES if case.family == "type anywhere"]
    first, again, other = (
        [dict(mutant.files) for mutant in draw([source], cases, seed, turns=TURNS)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("text", "escaped"), [("{{ .b }}", '{{ "{{" }} .b {{ "}}" }}'), ("{}}", '{{ "{}}" }}'), ("{a}", "{a}")]
)
def test_braces_of_a_manifest_stay_text_in_a_chart(text: str, escaped: str) -> None:
    assert written([{"a": text}], Sort.CHARTS).decode() == f'---\na: "{escaped}"\n'


def test_refusals_of_different_objects_have_one_template() -> None:
    said = (
        '{}: spec.{}.containers[0].ports[{}].protocol: Unsupported value: "{}": supported values: "SCTP", "TCP", "UDP"'
    )
    one = template(said.format("Deployment", "template.spec", 0, "tcp"))
    assert one == template(said.format("Pod", "x", 3, "HTTP"))
    assert one != template("Deployment: spec.replicas: Invalid value: -1: must be greater than or equal to 0")


def csv_source() -> Source:
    documents = {CSV_FILE: [CSV]}
    files = {file: written(several, Sort.OLM) for file, several in documents.items()}
    return Source(name="shop", sort=Sort.OLM, files=files, documents=documents)
