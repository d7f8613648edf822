"""Every value of the chart: documented, changes what is rendered, and refused where it would not work."""

import json
import re
import subprocess
from typing import Any

import pytest
import yaml

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.operator.process import STOP_SECONDS
from tools import chart

VALUES: dict[str, Any] = yaml.safe_load((chart.CHART / "values.yaml").read_text(encoding="utf-8"))
PEERS = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
ALLOW: dict[str, object] = {"networkPolicy.enabled": True}
TWO: dict[str, object] = {"replicaCount": 2}
CLIENTS: dict[str, object] = {"webhook.clientCA.configMap": "clients"}
PAGE: dict[str, object] = {"page.enabled": True}
MONITOR: dict[str, object] = {"metrics.serviceMonitor.enabled": True}
RULE: dict[str, object] = {"metrics.prometheusRule.enabled": True}
DASHBOARD: dict[str, object] = {"metrics.dashboard.enabled": True}
RELABELLED = [{"action": "labeldrop", "regex": "pod"}]
# A setting of each value, and others without which it has no effect.
SETTINGS: dict[str, tuple[object, dict[str, object]]] = {
    "image.registry": ("registry.example.com:5000", {}),
    "image.repository": ("mirror/rukpak", {}),
    "image.tag": ("v2", {}),
    "image.digest": (f"sha256:{'a' * 64}", {}),
    "image.pullPolicy": ("Always", {}),
    "imagePullSecrets": ([{"name": "login"}], {}),
    "replicaCount": (3, {}),
    "crds.enabled": (False, {}),
    "crds.keep": (False, {}),
    "serviceAccount.annotations": ({"example.com/role": "reader"}, {}),
    "log.level": ("debug", {}),
    "log.format": ("text", {}),
    "storage.existingClaim": ("content", {}),
    "storage.sizeLimit": ("1.5Gi", {}),
    "content.externalAddress": ("https://content.example.com", {}),
    "unpack.images": ("direct", {}),
    "unpack.pods": ("keep", {}),
    "unpack.pullPolicy": ("Always", {}),
    "unpack.image": ("registry.example.com/tool:1", {}),
    "unpack.platform": ("linux/arm64", {}),
    "unpack.nodeSelector": ({"kubernetes.io/arch": "arm64"}, {}),
    "unpack.tolerations": ([{"key": "a", "operator": "Exists", "effect": "NoSchedule"}], {}),
    "unpack.resources": ({"limits": {"memory": "64Mi", "cpu": 0.5}}, {}),
    "mode": ("narrow", {}),
    "defaultInstallNamespace": ("apps", {}),
    "defaultServiceAccount": ("installer", {}),
    "leastApproval": ("Manual", {}),
    "tenants": ([{"namespace": "shop", "serviceAccounts": ["installer"]}], {"mode": "narrow"}),
    "bindSecretsToHosts": (True, {}),
    "extraArgs": (["--reapply-interval=0"], {}),
    "extraEnv": ([{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}], {}),
    "resources": ({"limits": {"memory": "512Mi"}}, {}),
    "clusterDomain": ("corp.example", {}),
    "terminationGracePeriodSeconds": (60, {}),
    "priorityClassName": ("system-cluster-critical", {}),
    "nodeSelector": ({"kubernetes.io/os": "linux"}, {}),
    "tolerations": ([{"operator": "Exists"}], {}),
    "affinity": ({"nodeAffinity": {}}, {}),
    "topologySpreadConstraints": (
        [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}],
        {},
    ),
    "podAnnotations": ({"example.com/scrape": "true"}, {}),
    "podLabels": ({"team": "platform"}, {}),
    "podSecurityContext": ({"runAsUser": 2000}, {}),
    "securityContext": ({"privileged": False}, {}),
    "podDisruptionBudget.enabled": (False, TWO),
    "podDisruptionBudget.maxUnavailable": ("50%", TWO),
    "networkPolicy.enabled": (True, {}),
    "networkPolicy.from.webhook": ([{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}], ALLOW),
    "networkPolicy.from.content": (PEERS, ALLOW),
    "networkPolicy.from.metrics": (PEERS, ALLOW),
    "networkPolicy.from.probes": ([{"ipBlock": {"cidr": "fd00::/8"}}], ALLOW),
    "flowSchemas.enabled": (False, {}),
    "webhook.timeoutSeconds": (5, {}),
    "webhook.clientCA.configMap": ("clients", {}),
    "webhook.clientCA.secret": ("clients", {}),
    "webhook.clientCA.key": ("clients.crt", CLIENTS),
    "webhook.clientCA.names": (["kube-apiserver"], CLIENTS),
    "page.enabled": (True, {}),
    "page.troubleshootingUrl": ("https://docs.example.com/troubleshooting", PAGE),
    "metrics.perObject": (False, {}),
    "metrics.serviceMonitor.enabled": (True, {}),
    "metrics.serviceMonitor.labels": ({"release": "prometheus"}, MONITOR),
    "metrics.serviceMonitor.interval": ("1m", MONITOR),
    "metrics.serviceMonitor.scrapeTimeout": ("10s", MONITOR),
    "metrics.serviceMonitor.relabelings": (RELABELLED, MONITOR),
    "metrics.serviceMonitor.metricRelabelings": (RELABELLED, MONITOR),
    "metrics.prometheusRule.enabled": (True, {}),
    "metrics.prometheusRule.labels": ({"release": "prometheus"}, RULE),
    "metrics.prometheusRule.alertLabels": ({"team": "platform"}, RULE),
    "metrics.prometheusRule.runbookBaseUrl": ("https://docs.example.com/alerts", RULE),
    "metrics.prometheusRule.disabled": (["RukPakOperatorAbsent"], RULE),
    "metrics.dashboard.enabled": (True, {}),
    "metrics.dashboard.namespace": ("monitoring", DASHBOARD),
    "metrics.dashboard.labels": ({"grafana_dashboard": "yes"}, DASHBOARD),
    "metrics.dashboard.annotations": ({"example.com/folder": "rukpak"}, DASHBOARD),
}
# Objects that a user fills: the keys below them are Kubernetes' own.
WHOLE = {"metrics.dashboard.labels", "resources", "unpack.resources", "podSecurityContext", "securityContext"}
REFUSED: list[tuple[str, object]] = [
    ("storage.sizeLimit", "abc"),
    ("storage.sizeLimit", "2 Gi"),
    ("storage.sizeLimit", "-1Gi"),
    ("storage.existingClaim", "My Claim"),
    ("terminationGracePeriodSeconds", 1),
    ("terminationGracePeriodSeconds", int(STOP_SECONDS)),
    ("terminationGracePeriodSeconds", "60s"),
    ("resources", {"limits": {"memory": "lots"}}),
    ("resources", {"limit": {"memory": "1Gi"}}),
    ("unpack.resources", {"requests": {"cpu": "10 m"}}),
    ("image.tag", "v 2"),
    ("image.registry", "registry.example.com/"),
    ("image.repository", "Rukpak"),
    ("image.digest", "sha256:1"),
    ("imagePullSecrets", ["login"]),
    ("imagePullSecrets", [{"name": "Login_1"}]),
    ("clusterDomain", ""),
    ("clusterDomain", ".corp.example"),
    ("clusterDomain", "corp example"),
    ("defaultInstallNamespace", "Not_A_Name"),
    ("defaultInstallNamespace", "a" * 64),
    ("priorityClassName", "High Priority"),
    ("nodeSelector", {"kubernetes.io/os": "linux os"}),
    ("podLabels", {"team": "a/b"}),
    ("podAnnotations", {"a b": "c"}),
    ("tolerations", [{"effect": "NoScheduling"}]),
    ("tolerations", [{"key": "a", "op": "Exists"}]),
    ("topologySpreadConstraints", [{"maxSkew": 1}]),
    ("extraEnv", [{"value": "x"}]),
    ("podDisruptionBudget.maxUnavailable", "half"),
    ("podDisruptionBudget.maxUnavailable", -1),
    ("networkPolicy.from.webhook", [{}]),
    ("networkPolicy.from.webhook", ["10.0.0.0/8"]),
    ("networkPolicy.from.metrics", [{"ipBlock": {"cidr": "10.0.0.0"}}]),
    ("networkPolicy.from.metrics", [{"ipBlock": {"cidr": "10.0.0.0/33"}}]),
    ("networkPolicy.from.metric", PEERS),
    ("webhook.timeoutSeconds", 31),
    ("webhook.clientCA.configMap", "Clients"),
    ("webhook.clientCA.key", "a/b"),
]


def leaves(values: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for name, value in values.items():
        path = f"{prefix}{name}"
        found |= leaves(value, f"{path}.") if isinstance(value, dict) and value and path not in WHOLE else {path}
    return found


def run(helm: HelmProgram, command: list[str], settings: dict[str, object]) -> subprocess.CompletedProcess[str]:
    given = [f"--set-json={path}={json.dumps(value)}" for path, value in settings.items()]
    base = [helm.path, *command, str(chart.CHART), f"--namespace={chart.NAMESPACE}", *given]
    return subprocess.run(base, capture_output=True, text=True, check=False)


def rendered(helm: HelmProgram, settings: dict[str, object]) -> str:
    done = run(helm, ["template", "rukpak"], settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def defaults(helm: HelmProgram) -> dict[str, str]:
    """Renderings without the value itself, by the settings that it needs."""
    needed = {json.dumps(others): others for _, others in SETTINGS.values()}
    return {key: rendered(helm, others) for key, others in needed.items()}


def test_every_value_has_a_test() -> None:
    assert leaves(VALUES) == SETTINGS.keys()


def test_every_value_is_documented_with_a_comment_and_a_line_of_the_readme() -> None:
    lines = (chart.CHART / "README.md").read_text(encoding="utf-8").splitlines()
    names = [line.split(" | ")[0] for line in lines if line.startswith("| `")]
    documented = {name for cell in names for name in re.findall(r"`([\w.]+)`", cell)}
    assert leaves(VALUES) - documented == set()


def test_the_readme_documents_only_values_that_exist() -> None:
    text = (chart.CHART / "README.md").read_text(encoding="utf-8").partition("\n## Values\n")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    documented = {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}
    assert documented - leaves(VALUES) == set()


@pytest.mark.parametrize("path", SETTINGS)
def test_every_value_changes_what_is_rendered(helm: HelmProgram, defaults: dict[str, str], path: str) -> None:
    value, others = SETTINGS[path]
    assert rendered(helm, {**others, path: value}) != defaults[json.dumps(others)]


@pytest.mark.parametrize("path", SETTINGS)
def test_lint_finds_nothing_with_any_value(helm: HelmProgram, path: str) -> None:
    value, others = SETTINGS[path]
    done = run(helm, ["lint", "--strict"], {**others, path: value})
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("path", "value"), REFUSED, ids=lambda one: str(one)[:60])
def test_values_that_would_not_work_are_refused(helm: HelmProgram, path: str, value: object) -> None:
    done = run(helm, ["template", "rukpak"], {path: value})
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr
    assert f"/{path.split('.', maxsplit=1)[0]}" in done.stderr


def test_the_least_grace_period_is_longer_than_a_stop(helm: HelmProgram) -> None:
    assert rendered(helm, {"terminationGracePeriodSeconds": int(STOP_SECONDS) + 1})


def policy(helm: HelmProgram, **sources: object) -> dict[str, Any]:
    """Rules of the NetworkPolicy by the name of the port."""
    settings = {f"networkPolicy.from.{port}": peers for port, peers in sources.items()}
    documents = yaml.safe_load_all(rendered(helm, {**ALLOW, **settings}))
    (found,) = (one for one in documents if one and one["kind"] == "NetworkPolicy")
    rules = {}
    for rule in found["spec"]["ingress"]:
        (port,) = rule["ports"]
        rules[port["port"]] = rule
    return rules


def test_each_port_has_a_rule_of_its_own(helm: HelmProgram) -> None:
    assert policy(helm).keys() == {"webhook", "content", "metrics", "probes"}
    assert not any("from" in rule for rule in policy(helm).values())


def test_a_port_admits_those_that_are_named_for_it(helm: HelmProgram) -> None:
    rules = policy(helm, metrics=PEERS)
    assert rules["metrics"]["from"] == PEERS
    assert not any("from" in rules[port] for port in ("webhook", "content", "probes"))
