# ruff: noqa: S101 - pytest asserts
"""A chart that keeps its password by `lookup`, rendered in the operator's own pod, which is restricted: helm gets no
network of its own there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from e2e.kubectl import Kubectl

NAME = "lookups"  # of the deployment and of its namespace
SYSTEM = "rukpak-system"
FILES = {
    "chart": {"Chart.yaml": "apiVersion: v2\nname: lookups\nversion: 1.0.0\n"},
    "chart/templates": {
        "secret.yaml": """{{- $found := lookup "v1" "Secret" .Release.Namespace "login" }}
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {password: {{ if $found }}{{ $found.data.password }}{{ else }}{{ randAlphaNum 20 | b64enc }}{{ end }}}
""",
        "settings.yaml": """apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {size: {{ .Values.size | default "small" }}}
""",
    },
}
pytestmark = pytest.mark.usefixtures("release")


@pytest.fixture(scope="module", autouse=True)
def chart(kubectl: Kubectl) -> Iterator[None]:
    kubectl.run("apply", "--server-side", "--filename=-", stdin=json.dumps(manifests()))
    yield
    kubectl.run("delete", "bundledeployment", NAME, "--ignore-not-found", "--timeout=60s")
    kubectl.run("delete", "namespace", NAME, "--ignore-not-found", "--wait=false")
    # The garbage collector deletes Bundles later; until then no ConfigMap of theirs may go.
    kubectl.run("wait", "--for=delete", "bundles", f"--selector=core.rukpak.io/owner-name={NAME}", "--timeout=60s")
    kubectl.run("delete", "configmap", f"--namespace={SYSTEM}", "--selector=part-of=lookups")


def manifests() -> dict[str, Any]:
    config_maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"lookups-{number}", "namespace": SYSTEM, "labels": {"part-of": "lookups"}},
            "immutable": True,
            "data": data,
        }
        for number, data in enumerate(FILES.values())
    ]
    source = {
        "type": "configMaps",
        "configMaps": [{"path": path, "configMap": {"name": f"lookups-{number}"}} for number, path in enumerate(FILES)],
    }
    bundle = {"provisionerClassName": "core-rukpak-io-helm", "source": source}
    spec = {
        "provisionerClassName": "core-rukpak-io-helm",
        "installNamespace": NAME,
        "createNamespace": True,
        "template": {"spec": bundle},
    }
    metadata = {"name": NAME}
    deployment = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "metadata": metadata}
    return {"apiVersion": "v1", "kind": "List", "items": [*config_maps, {**deployment, "spec": spec}]}


def password(kubectl: Kubectl) -> str:
    return str(kubectl.get("secret", "login", f"--namespace={NAME}")["data"]["password"])


def test_the_password_stays_when_the_values_change(kubectl: Kubectl) -> None:
    kubectl.wait_ready(NAME, seconds=120)
    first = password(kubectl)
    patch = json.dumps({"spec": {"config": {"values": {"size": "large"}}}})
    kubectl.run("patch", "bundledeployment", NAME, "--type=merge", f"--patch={patch}")
    wait = "--for=jsonpath={.data.size}=large"
    kubectl.run("wait", "configmap/settings", f"--namespace={NAME}", wait, "--timeout=60s")
    kubectl.wait_ready(NAME)
    assert password(kubectl) == first
    newest = kubectl.get("bundledeployment", NAME)["status"]["history"][0]
    assert (newest["renderer"], newest["isUpgrade"]) == ("Cluster", True)
