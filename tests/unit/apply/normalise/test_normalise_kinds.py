"""Rules for single kinds that server-side apply needs to hold them without surprises."""

from base64 import b64encode
from typing import Any

import pytest

from rukpak_py.apply.normalise import Normalised, normalise
from rukpak_py.core.errors import ContentError

RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
NETWORKING = "networking.k8s.io/v1"


def normal(api_version: str, kind: str, *, annotations: dict[str, str] | None = None, **fields: Any) -> Normalised:
    metadata = {"name": "x", "namespace": "shop", **({"annotations": annotations} if annotations else {})}
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
    return normalise(manifest, namespaced=True, default_namespace="shop")


def fields_of(result: Normalised) -> dict[str, Any]:
    return {key: value for key, value in result.manifest.items() if key not in {"apiVersion", "kind", "metadata"}}


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


class TestSecret:
    def test_string_data_becomes_data_and_wins(self) -> None:
        result = normal("v1", "Secret", data={"a": base64("old"), "b": base64("b")}, stringData={"a": "grüß", "c": ""})
        assert fields_of(result) == {"data": {"a": base64("grüß"), "b": base64("b"), "c": ""}}

    @pytest.mark.parametrize("string_data", [None, {}])
    def test_empty_string_data_leaves_nothing_behind(self, string_data: dict[str, str] | None) -> None:
        assert fields_of(normal("v1", "Secret", stringData=string_data)) == {}

    def test_a_null_is_the_empty_text(self) -> None:
        assert fields_of(normal("v1", "Secret", stringData={"a": None})) == {"data": {"a": ""}}

    @pytest.mark.parametrize("value", [1, True, ["canary"], {"canary": "canary"}, "canary\ud800"])
    def test_an_error_never_shows_a_value(self, value: object) -> None:
        with pytest.raises(ContentError, match=r"^Secret shop/x: stringData") as caught:
            normal("v1", "Secret", stringData={"a": value})
        assert "canary" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_a_custom_resource_of_that_name_is_another_kind(self) -> None:
        assert fields_of(normal("shop.test/v1", "Secret", stringData={"a": "b"})) == {"stringData": {"a": "b"}}


class TestClusterRole:
    AGGREGATION: dict[str, Any] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}  # noqa: RUF012 - never changed

    def test_the_rules_of_an_aggregated_role_are_left_to_the_server(self) -> None:
        result = normal(RBAC, "ClusterRole", aggregationRule=self.AGGREGATION, rules=[])
        assert fields_of(result) == {"aggregationRule": self.AGGREGATION}
        assert result.warnings == ()

    def test_rules_that_the_author_wrote_for_one_are_warned_of(self) -> None:
        result = normal(RBAC, "ClusterRole", aggregationRule=self.AGGREGATION, rules=[{"verbs": ["get"]}])
        assert "rules" not in result.manifest
        assert len(result.warnings) == 1

    @pytest.mark.parametrize("rules", [[], [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]])
    def test_other_roles_keep_their_rules(self, rules: list[Any]) -> None:
        assert fields_of(normal(RBAC, "ClusterRole", aggregationRule=None, rules=rules)) == {"rules": rules}


class TestNetworkPolicy:
    @pytest.mark.parametrize(
        ("spec", "wanted"),
        [
            # no rule is no rule, whether the list is empty or absent: policyTypes says what is denied
            (
                {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [], "egress": []},
                {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
            ),
            ({"podSelector": {}, "policyTypes": [], "egress": []}, {"podSelector": {}, "policyTypes": ["Ingress"]}),
            # no peer is any peer
            (
                {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [], "ports": []}]},
                {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]},
            ),
            (
                {"podSelector": {"matchLabels": {}, "matchExpressions": []}, "egress": [{"to": [], "ports": [{}]}]},
                {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [{"ports": [{}]}]},
            ),
            (
                {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": []}}]}]},
                {
                    "podSelector": {},
                    "policyTypes": ["Ingress"],
                    "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
                },
            ),
        ],
    )
    def test_empty_lists_go(self, spec: dict[str, Any], wanted: dict[str, Any]) -> None:
        assert fields_of(normal(NETWORKING, "NetworkPolicy", spec=spec)) == {"spec": wanted}

    @pytest.mark.parametrize(
        "spec",
        [
            {"podSelector": {}, "ingress": [{}]},  # allows everything
            {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}, "namespaceSelector": {}}]}]},
            {"podSelector": {"matchLabels": {"a": "b"}}, "egress": [{"to": [{"podSelector": {}}]}]},
        ],
    )
    def test_empty_mappings_keep_their_meaning(self, spec: dict[str, Any]) -> None:
        given = {**spec, "policyTypes": ["Egress"]}
        assert fields_of(normal(NETWORKING, "NetworkPolicy", spec=given)) == {"spec": given}

    @pytest.mark.parametrize(
        ("rules", "types"),
        [
            ({}, ["Ingress"]),
            ({"ingress": [{}]}, ["Ingress"]),
            ({"egress": [{}]}, ["Ingress", "Egress"]),
            ({"egress": []}, ["Ingress"]),
            ({"egress": None, "policyTypes": None}, ["Ingress"]),
            ({"egress": [{}], "policyTypes": ["Ingress"]}, ["Ingress"]),
        ],
    )
    def test_the_default_of_the_types_is_written_out(self, rules: dict[str, Any], types: list[str]) -> None:
        """The API server fills the default in when it creates the policy, and never changes it again."""
        result = normal(NETWORKING, "NetworkPolicy", spec={"podSelector": {}, **rules})
        assert result.manifest["spec"]["policyTypes"] == types


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
class TestWebhookConfiguration:
    def test_empty_list_of_webhooks_is_dropped(self, kind: str) -> None:
        assert fields_of(normal(ADMISSION, kind, webhooks=[])) == {}
        assert fields_of(normal(ADMISSION, kind)) == {}

    def test_empty_parts_of_a_webhook(self, kind: str) -> None:
        selector: dict[str, Any] = {"matchLabels": {}, "matchExpressions": []}
        webhook = {"name": "a.test", "rules": [], "matchConditions": [], "namespaceSelector": selector}
        assert fields_of(normal(ADMISSION, kind, webhooks=[webhook])) == {
            "webhooks": [{"name": "a.test", "namespaceSelector": {}}]
        }


class TestStorageClass:
    def test_empty_parameters_go(self) -> None:
        result = normal("storage.k8s.io/v1", "StorageClass", provisioner="a.test", parameters={}, mountOptions=[])
        assert fields_of(result) == {"provisioner": "a.test", "mountOptions": []}

    def test_parameters_of_a_storage_class_stay(self) -> None:
        assert fields_of(normal("storage.k8s.io/v1", "StorageClass", parameters={"a": "b"})) == {
            "parameters": {"a": "b"}
        }


class TestJob:
    @pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}])
    def test_an_empty_selector_is_generated_by_the_server(self, selector: object) -> None:
        assert fields_of(normal("batch/v1", "Job", spec={"selector": selector})) == {"spec": {}}

    @pytest.mark.parametrize(
        "spec", [{"manualSelector": True, "selector": {}}, {"selector": {"matchLabels": {"a": "b"}}}]
    )
    def test_a_selector_of_the_author_stays(self, spec: dict[str, Any]) -> None:
        assert fields_of(normal("batch/v1", "Job", spec=spec)) == {"spec": spec}


def test_a_blank_protocol_of_a_service_is_the_default() -> None:
    assert fields_of(normal("v1", "Service", spec={"ports": [{"port": 80, "protocol": ""}]})) == {
        "spec": {"ports": [{"port": 80}]}
    }


class TestInjectedAuthorities:
    CONFIG: dict[str, Any] = {"caBundle": "Cg==", "service": {"name": "a"}}  # noqa: RUF012 - never changed
    REST: dict[str, Any] = {"service": {"name": "a"}}  # noqa: RUF012 - never changed
    ANNOTATIONS = (
        {"cert-manager.io/inject-ca-from": "shop/certificate"},
        {"cert-manager.io/inject-ca-from-secret": "shop/secret"},
        {"cert-manager.io/inject-apiserver-ca": "true"},
        {"service.beta.openshift.io/inject-cabundle": "true"},
    )

    @pytest.mark.parametrize("annotations", ANNOTATIONS)
    def test_a_placeholder_is_left_to_the_injector(self, annotations: dict[str, str]) -> None:
        webhooks = [{"name": "a.test", "clientConfig": self.CONFIG}]
        result = normal(ADMISSION, "ValidatingWebhookConfiguration", annotations=annotations, webhooks=webhooks)
        assert fields_of(result) == {"webhooks": [{"name": "a.test", "clientConfig": self.REST}]}

        conversion = {"strategy": "Webhook", "webhook": {"clientConfig": self.CONFIG}}
        result = normal(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            annotations=annotations,
            spec={"conversion": conversion},
        )
        assert result.manifest["spec"]["conversion"]["webhook"] == {"clientConfig": self.REST}

        result = normal("apiregistration.k8s.io/v1", "APIService", annotations=annotations, spec=self.CONFIG)
        assert fields_of(result) == {"spec": self.REST}

    @pytest.mark.parametrize("annotations", [{}, {"cert-manager.io/inject-apiserver-ca": "false"}])
    def test_without_an_injector_the_author_is_right(self, annotations: dict[str, str]) -> None:
        webhooks = [{"name": "a.test", "clientConfig": self.CONFIG}]
        result = normal(ADMISSION, "MutatingWebhookConfiguration", annotations=annotations, webhooks=webhooks)
        assert fields_of(result) == {"webhooks": webhooks}


@pytest.mark.parametrize(
    ("api_version", "kind", "fields", "message"),
    [
        ("v1", "Secret", {"stringData": []}, "Secret shop/x: stringData must be a mapping, got a list"),
        (
            "v1",
            "Secret",
            {"data": 1, "stringData": {"a": "b"}},
            "Secret shop/x: data must be a mapping, got a number",
        ),
        ("batch/v1", "Job", {"spec": "x"}, "Job.batch/shop/x: spec must be a mapping, got a string"),
        ("v1", "Service", {"spec": {"ports": {}}}, "Service shop/x: spec.ports must be a list, got a mapping"),
        ("v1", "Service", {"spec": {"ports": [80]}}, "Service shop/x: spec.ports[0] must be a mapping, got a number"),
        (
            "apps/v1",
            "Deployment",
            {"spec": {"template": {"spec": {"containers": [None]}}}},
            "Deployment.apps/shop/x: spec.template.spec.containers[0] must be a mapping, got null",
        ),
    ],
)
def test_a_wrong_type_is_refused_with_its_path(
    api_version: str, kind: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ContentError) as caught:
        normal(api_version, kind, **fields)
    assert str(caught.value) == message
