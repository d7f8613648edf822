"""The API server trusts our webhooks again after their caBundle was lost, as by `helm upgrade --force`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import local_operator
from e2e.cluster.control_plane import ControlPlane
from e2e.kubectl import Kubectl, KubectlError
from e2e.waiting import eventually
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE, WEBHOOK_CONFIGURATION
from tests.integration.definitions import FOLDER

CONFIGURATION = ("validatingwebhookconfiguration", WEBHOOK_CONFIGURATION)
EMPTY = '[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":""}]'
# The webhook refuses it: its answer shows that it was reached.
BUNDLE = """
apiVersion: core.rukpak.io/v1alpha1
kind: Bundle
metadata: {name: outside}
spec:
  provisionerClassName: nobody-serves-this-class
  source: {type: configMaps, configMaps: [{path: ../outside, configMap: {name: outside}}]}
"""
REACHED = 'admission webhook "vbundles.core.rukpak.io" denied the request'


@pytest.fixture
def kubectl(private_control_plane: ControlPlane) -> Kubectl:
    kubectl = Kubectl.on(private_control_plane.kubeconfig)
    kubectl.run("apply", "--server-side", "-f", str(FOLDER))
    kubectl.run("wait", "--for=condition=Established", "--timeout=30s", "-f", str(FOLDER))
    kubectl.run("create", "namespace", DEFAULT_SYSTEM_NAMESPACE)
    return kubectl


@pytest.fixture
def operator(kubectl: Kubectl, tmp_path: Path) -> Iterator[Path]:
    with local_operator.running(kubeconfig=kubectl.kubeconfig, folder=tmp_path) as running:
        yield running.log


def answer_to_a_bundle(kubectl: Kubectl) -> str:
    with pytest.raises(KubectlError) as refused:
        kubectl.run("create", "-f", "-", stdin=BUNDLE)
    return str(refused.value)


def test_a_lost_ca_bundle_is_written_again(kubectl: Kubectl, operator: Path) -> None:
    kubectl.run("patch", *CONFIGURATION, "--type=json", f"--patch={EMPTY}")
    eventually(
        lambda: all(webhook["clientConfig"].get("caBundle") for webhook in kubectl.get(*CONFIGURATION)["webhooks"]),
        what="the caBundle back",
        seconds=30,  # the keeper's own interval is ten minutes
    )
    eventually(lambda: REACHED in answer_to_a_bundle(kubectl), what="the webhook reached")
