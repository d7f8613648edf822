# ruff: noqa: S101 - pytest asserts
"""Renderings of the chart; needs helm and no cluster."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from rukpak_py.api.accounts import Mode
from rukpak_py.api.policies.installation import Installation
from rukpak_py.api.upgrades import Approval
from rukpak_py.certificates.own_webhooks import OurWebhooks
from rukpak_py.operator.process import STOP_SECONDS
from rukpak_py.operator.settings import read_settings
from tools import chart

if TYPE_CHECKING:
    from pathlib import Path

Manifest = dict[str, Any]


@pytest.fixture(scope="session")
def helm() -> Path:
    return chart.helm()


def rendered(helm: Path, *settings: str) -> dict[str, Manifest]:
    documents = yaml.load_all(chart.render(helm, *settings), yaml.CSafeLoader)
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in documents if item}


def crds(objects: dict[str, Manifest]) -> list[Manifest]:
    return [item for item in objects.values() if item["kind"] == "CustomResourceDefinition"]


def test_lint_finds_nothing(helm: Path) -> None:
    subprocess.run([str(helm), "lint", "--strict", str(chart.CHART)], check=True, stdout=subprocess.DEVNULL)


def test_the_webhooks_are_those_that_the_operator_serves(helm: Path) -> None:
    shipped = rendered(helm)["ValidatingWebhookConfiguration/rukpak-validating-webhook-configuration"]
    served = OurWebhooks(system_namespace=chart.NAMESPACE).configuration()
    assert shipped["webhooks"] == served["webhooks"]


def test_crds_are_kept_on_uninstall_unless_told_otherwise(helm: Path) -> None:
    kept, dropped = crds(rendered(helm)), crds(rendered(helm, "crds.keep=false"))
    assert len(kept) == len(dropped) == len(list(chart.CHART.glob("files/crds/*.yaml")))
    assert all(crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for crd in kept)
    assert not any("annotations" in crd["metadata"] for crd in dropped)
    assert crds(rendered(helm, "crds.enabled=false")) == []


def test_secrets_are_bound_to_hosts_by_a_value(helm: Path) -> None:
    for settings, is_bound in (((), False), (("bindSecretsToHosts=true",), True)):
        pod = rendered(helm, *settings)["Deployment/core"]["spec"]["template"]["spec"]
        given = read_settings([one for one in pod["containers"][0]["args"] if "$" not in one], {})
        assert given.logins.bind_secrets_to_hosts is is_bound


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("account", "least"), [("", Approval.AUTOMATIC), ("installer", Approval.MANUAL)])
def test_policies_and_flags_follow_the_same_values(helm: Path, mode: Mode, account: str, least: Approval) -> None:
    shipped = rendered(helm, f"mode={mode}", f"defaultServiceAccount={account}", f"leastApproval={least}")
    pod = shipped["Deployment/core"]["spec"]["template"]["spec"]
    given = [one for one in pod["containers"][0]["args"] if "$" not in one]
    installation = read_settings([*given, f"--system-namespace={chart.NAMESPACE}"], {}).installation
    assert installation == Installation(
        system_namespace=chart.NAMESPACE, mode=mode, default_account=account, least_approval=least
    )
    for one in installation.policies():
        assert shipped[f"{one['kind']}/{one['metadata']['name']}"]["spec"] == one["spec"]


def test_a_disruption_budget_needs_a_second_replica(helm: Path) -> None:
    assert "PodDisruptionBudget/core" not in rendered(helm)
    assert "PodDisruptionBudget/core" in rendered(helm, "replicaCount=2")


def test_queues_of_the_api_server_are_for_the_operators_account_only(helm: Path) -> None:
    shipped = [item for item in rendered(helm).values() if item["kind"] == "FlowSchema"]
    subjects = [subject for item in shipped for rule in item["spec"]["rules"] for subject in rule["subjects"]]
    account = {"name": "core-admin", "namespace": chart.NAMESPACE}
    assert subjects == [{"kind": "ServiceAccount", "serviceAccount": account}] * len(shipped)
    assert shipped
    assert not [name for name in rendered(helm, "flowSchemas.enabled=false") if name.startswith("FlowSchema/")]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], "RollingUpdate"),
        (["storage.existingClaim=content"], "Recreate"),
        (["storage.existingClaim=content", "replicaCount=2"], "RollingUpdate"),
    ],
)
def test_a_claim_of_a_single_replica_changes_hands(helm: Path, settings: list[str], expected: str) -> None:
    strategy = rendered(helm, *settings)["Deployment/core"]["spec"]["strategy"]
    assert strategy["type"] == expected
    assert ("rollingUpdate" in strategy) == (expected == "RollingUpdate")


@pytest.mark.parametrize(
    ("settings", "uploads", "url"),
    [
        ([], "/var/cache/uploads", f"https://core.{chart.NAMESPACE}.svc"),
        (["storage.existingClaim=content"], "/var/cache/bundles/uploads", f"https://core.{chart.NAMESPACE}.svc"),
        (["content.externalAddress=https://c.example.com"], "/var/cache/uploads", "https://c.example.com"),
    ],
)
def test_uploads_lie_on_a_volume(helm: Path, settings: list[str], uploads: str, url: str) -> None:
    pod = rendered(helm, *settings)["Deployment/core"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    read = read_settings([one for one in container["args"] if "$" not in one], {})
    assert (str(read.upload_dir), read.external_url) == (uploads, url)
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert any(uploads.startswith(path) and name in volumes for path, name in mounts.items())


def test_a_pod_has_time_to_stop_while_it_serves_the_webhook(helm: Path) -> None:
    pod = rendered(helm)["Deployment/core"]["spec"]["template"]["spec"]
    settings = read_settings([one for one in pod["containers"][0]["args"] if "$" not in one], {})
    assert 0 < settings.shutdown_delay < STOP_SECONDS < pod["terminationGracePeriodSeconds"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], "localhost/rukpak-py/operator:0.1.0"),
        (["image.registry=", "image.tag=v2"], "rukpak-py/operator:v2"),
        ([f"image.digest=sha256:{'a' * 64}"], f"localhost/rukpak-py/operator@sha256:{'a' * 64}"),
    ],
)
def test_the_image_is_named_by_tag_or_digest(helm: Path, settings: list[str], expected: str) -> None:
    pod = rendered(helm, *settings)["Deployment/core"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], (False, "")),
        (["page.troubleshootingUrl=https://d.example/t"], (False, "")),
        (["page.enabled=true"], (True, "")),
        (["page.enabled=true", "page.troubleshootingUrl=https://d.example/t"], (True, "https://d.example/t")),
    ],
)
def test_the_page_is_served_where_it_is_enabled(helm: Path, given: list[str], expected: tuple[bool, str]) -> None:
    """The server of Service core has it; nothing else changes."""
    shipped, without = rendered(helm, *given), rendered(helm)
    (container,) = shipped["Deployment/core"]["spec"]["template"]["spec"]["containers"]
    settings = read_settings([argument for argument in container["args"] if "$(" not in argument], {})
    assert (settings.page, settings.page_troubleshooting) == expected
    (behind,) = (one["targetPort"] for one in shipped["Service/core"]["spec"]["ports"] if one["name"] == "https")
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports[behind] == settings.content.port
    changed = [name for name in shipped if shipped[name] != without[name]]
    assert changed == (["Deployment/core"] if settings.page else [])


@pytest.mark.parametrize("kind", ["configMap", "secret"])
def test_clients_of_the_webhook_reach_the_operator(helm: Path, kind: str) -> None:
    given = [f"webhook.clientCA.{kind}=clients", "webhook.clientCA.names={kube-apiserver,other}"]
    pod = rendered(helm, *given)["Deployment/core"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    settings = read_settings([argument for argument in container["args"] if "$(" not in argument], {})
    assert settings.webhook_client_ca is not None
    assert settings.webhook_client_names == {"kube-apiserver", "other"}
    (mount,) = (one for one in container["volumeMounts"] if one["mountPath"] == str(settings.webhook_client_ca.parent))
    (volume,) = (one for one in pod["volumes"] if one["name"] == mount["name"])
    assert volume.get(kind) == {"secretName" if kind == "secret" else "name": "clients"}


@pytest.mark.parametrize(
    "settings",
    [["webhook.clientCA.names={a}"], ["webhook.clientCA.configMap=a", "webhook.clientCA.secret=b"]],
)
def test_clients_of_the_webhook_have_one_authority(helm: Path, settings: list[str]) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        chart.render(helm, *settings)
    assert "values don't meet the specifications of the schema" in refused.value.stderr


@pytest.mark.parametrize(
    "setting", ["replicas=2", "image.name=x", "log.level=loud", "replicaCount=many", "bindSecretsToHosts=git"]
)
def test_values_that_mean_nothing_are_refused(helm: Path, setting: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        chart.render(helm, setting)
    assert "values don't meet the specifications of the schema" in refused.value.stderr


def test_settings_of_unpack_pods_reach_the_operator(helm: Path) -> None:
    given = [
        *("unpack.images=pod", "unpack.pods=keep", "unpack.platform=linux/arm64", "imagePullSecrets[0].name=login"),
        *("unpack.nodeSelector.disk=ssd", "unpack.tolerations[0].operator=Exists"),
        "unpack.resources.limits.memory=1Gi",
    ]
    (container,) = rendered(helm, *given)["Deployment/core"]["spec"]["template"]["spec"]["containers"]
    settings = read_settings([argument for argument in container["args"] if "$(" not in argument], {})
    assert settings.image_unpack == "pod"
    pods = settings.unpack_pods
    assert (pods.tool_image, pods.keep, str(pods.platform)) == (container["image"], True, "linux/arm64")
    assert (pods.pull_secrets, pods.node_selector) == (("login",), {"disk": "ssd"})
    assert pods.tolerations == [{"operator": "Exists"}]
    assert pods.resources == {"limits": {"memory": "1Gi"}, "requests": {"cpu": "10m", "memory": "16Mi"}}


def test_nothing_of_the_prometheus_operator_is_needed_by_default(helm: Path) -> None:
    groups = {item["apiVersion"].partition("/")[0] for item in rendered(helm).values()}
    assert "monitoring.coreos.com" not in groups
    assert "Service/core-metrics" not in rendered(helm)


def test_a_service_monitor_finds_every_replica(helm: Path) -> None:
    given = ["metrics.serviceMonitor.labels.release=stack", "metrics.serviceMonitor.interval=30s"]
    shipped = rendered(helm, "metrics.serviceMonitor.enabled=true", *given)
    monitor, service = shipped["ServiceMonitor/core"], shipped["Service/core-metrics"]
    assert monitor["metadata"]["labels"]["release"] == "stack"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    for other in (item for item in shipped.values() if item["kind"] == "Service" and item is not service):
        assert not monitor["spec"]["selector"]["matchLabels"].items() <= other["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "interval": "30s"}
    (port,) = service["spec"]["ports"]
    (container,) = shipped["Deployment/core"]["spec"]["template"]["spec"]["containers"]
    assert port["name"] == endpoint["port"]
    assert port["targetPort"] in {one["name"] for one in container["ports"]}
    assert service["spec"]["publishNotReadyAddresses"] is True


def test_alerts_are_those_of_the_file_with_the_values_of_the_release(helm: Path) -> None:
    given = [
        *("metrics.prometheusRule.labels.release=stack", "metrics.prometheusRule.alertLabels.team=platform"),
        *(
            "metrics.prometheusRule.runbookBaseUrl=https://d.example/alerts",
            "metrics.prometheusRule.disabled={RukPakNoLeader}",
        ),
    ]
    rule = rendered(helm, "metrics.prometheusRule.enabled=true", *given)["PrometheusRule/core"]
    assert rule["metadata"]["labels"]["release"] == "stack"
    expected = yaml.safe_load((chart.CHART / "files/alerts.yaml").read_text(encoding="utf-8"))
    for group in expected["groups"]:
        group["rules"] = [one for one in group["rules"] if one["alert"] != "RukPakNoLeader"]
        for one in group["rules"]:
            one["labels"]["team"] = "platform"
            one["annotations"]["runbook_url"] = f"https://d.example/alerts#{one['alert'].lower()}"
    assert rule["spec"] == expected


def test_the_links_of_alerts_lead_to_the_repository_by_default(helm: Path) -> None:
    rule = rendered(helm, "metrics.prometheusRule.enabled=true")["PrometheusRule/core"]
    assert rule["spec"] == yaml.safe_load((chart.CHART / "files/alerts.yaml").read_text(encoding="utf-8"))


def test_an_alert_that_does_not_exist_cannot_be_left_out(helm: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        chart.render(helm, "metrics.prometheusRule.enabled=true", "metrics.prometheusRule.disabled={RukPakNone}")
    assert 'there is no alert "RukPakNone"' in refused.value.stderr


def test_the_dashboard_is_the_file(helm: Path) -> None:
    given = ["metrics.dashboard.namespace=grafana", "metrics.dashboard.annotations.folder=Platform"]
    found = rendered(helm, "metrics.dashboard.enabled=true", *given)["ConfigMap/rukpak-dashboard"]
    assert found["metadata"]["namespace"] == "grafana"
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["annotations"] == {"folder": "Platform"}
    shipped = (chart.CHART / "files/dashboard.json").read_text(encoding="utf-8")
    assert json.loads(found["data"]["rukpak.json"]) == json.loads(shipped)


def test_metrics_of_single_objects_follow_the_value(helm: Path) -> None:
    for value, is_wanted in (("true", True), ("false", False)):
        shipped = rendered(helm, f"metrics.perObject={value}")
        (container,) = shipped["Deployment/core"]["spec"]["template"]["spec"]["containers"]
        settings = read_settings([argument for argument in container["args"] if "$(" not in argument], {})
        assert settings.per_object_metrics is is_wanted


@pytest.mark.parametrize(
    "setting",
    [
        *("metrics.serviceMonitor.interval=often", "metrics.prometheusRule.runbookBaseUrl=", "metrics.enabled=true"),
        *("metrics.perObject=some", "metrics.dashboard.labels.a.b=c"),
    ],
)
def test_values_of_metrics_that_mean_nothing_are_refused(helm: Path, setting: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        chart.render(helm, setting)
    assert "values don't meet the specifications of the schema" in refused.value.stderr
