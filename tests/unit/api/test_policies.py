"""The admission policies: one source for the chart, the manifest and the operator, complete and under lasting names."""

from pathlib import Path

import pytest
import yaml

from rukpak_py.api.accounts import Mode
from rukpak_py.api.policies.document import PROBE, Document, Token
from rukpak_py.api.policies.installation import Installation, probes, revision, with_tokens
from rukpak_py.api.upgrades import Approval

ROOT = Path(__file__).parents[3]
NAMES = ["rukpak-accounts", "rukpak-operator-only", "rukpak-secrets"]  # of installed clusters: they never change


def read(path: Path) -> list[Document]:
    return [one for one in yaml.load_all(path.read_text(), yaml.CSafeLoader) if one]


def named(documents: list[Document]) -> dict[tuple[str, str], Document]:
    return {(one["kind"], one["metadata"]["name"]): one.get("spec", {}) for one in documents}


def test_policies_and_bindings_keep_their_names() -> None:
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    assert sorted(named(with_tokens())) == sorted((kind, name) for kind in kinds for name in NAMES)


def test_the_chart_has_what_the_operator_compares() -> None:
    assert read(ROOT / "charts/rukpak/files/policies.yaml") == with_tokens()


def test_the_manifest_has_what_the_operator_compares() -> None:
    shipped = named(read(ROOT / "manifests/install.yaml"))
    wanted = named(Installation(system_namespace="rukpak-system").policies())
    assert {key: shipped.get(key) for key in wanted} == wanted


@pytest.mark.parametrize("mode", Mode)
def test_values_of_an_installation_replace_every_token(mode: Mode) -> None:
    installation = Installation(system_namespace="some-system", mode=mode, default_account="some.installer")
    text = str(installation.policies())
    assert not [token for token in Token if token in text + installation.answer]
    assert "system:serviceaccount:some-system:core-admin" in text
    assert revision() in installation.answer


@pytest.mark.parametrize(("mode", "action"), [(Mode.CLASSIC, "Warn"), (Mode.NARROW, "Deny")])
def test_secrets_of_others_are_refused_in_narrow_mode_alone(mode: Mode, action: str) -> None:
    bound = named(Installation(system_namespace="s", mode=mode).policies())
    actions = {name: bound["ValidatingAdmissionPolicyBinding", name]["validationActions"] for name in NAMES}
    assert actions == {"rukpak-accounts": ["Deny"], "rukpak-operator-only": ["Deny"], "rukpak-secrets": [action]}


def test_guards_are_those_that_refuse_the_probes() -> None:
    guards = Installation(system_namespace="s").guards()
    assert {one["metadata"]["name"] for one in guards} == {"rukpak-accounts", "rukpak-operator-only"}
    refusing = [one for one in guards if PROBE in str(one)]
    assert len(refusing) == len(probes())
    assert all(one["metadata"]["name"] == PROBE for one in probes())


def test_answers_of_two_installations_differ() -> None:
    answers = {
        Installation(system_namespace=namespace, mode=mode, default_account=account, least_approval=least).answer
        for namespace in ("one", "other")
        for mode in Mode
        for account in ("", "installer")
        for least in Approval
    }
    assert len(answers) == 24


@pytest.mark.parametrize("document", with_tokens(), ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
def test_every_field_that_the_server_defaults_is_written(document: Document) -> None:
    spec = document["spec"]
    if document["kind"] == "ValidatingAdmissionPolicyBinding":
        assert set(spec) == {"policyName", "validationActions"}
        return
    assert spec["failurePolicy"] == "Fail"
    matched = spec["matchConstraints"]
    assert set(matched) == {"matchPolicy", "namespaceSelector", "objectSelector", "resourceRules"}
    assert all(rule["scope"] == "*" for rule in matched["resourceRules"])
