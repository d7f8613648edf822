"""The certificate of a bundle's webhooks: as its Secret has it, as callers trust it, and as its pod serves it."""

from __future__ import annotations

import base64
import json
import re
import ssl
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from e2e.kubectl import Kubectl, KubectlError
from e2e.webhook_operator.definition import PLURAL

if TYPE_CHECKING:
    from e2e.webhook_operator.bundle import GadgetBundle

PORT = 9443  # of the program in its pod


@dataclass(frozen=True, kw_only=True)
class Certificates:
    kubectl: Kubectl
    bundle: GadgetBundle
    namespace: str

    @property
    def secret_name(self) -> str:
        return f"{self.bundle.deployment_name}-service-cert"

    def stored(self) -> dict[str, bytes]:
        """Empty while there is no Secret."""
        try:
            found = self.kubectl.get("secret", self.secret_name, f"--namespace={self.namespace}")
        except KubectlError:
            return {}
        return {key: base64.b64decode(value) for key, value in found["data"].items()}

    def replace(self, **data: bytes) -> None:
        encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
        patch = json.dumps({"data": encoded})
        self.kubectl.run("patch", "secret", self.secret_name, f"--namespace={self.namespace}", f"--patch={patch}")

    def delete(self) -> None:
        self.kubectl.run("delete", "secret", self.secret_name, f"--namespace={self.namespace}")

    def injected(self) -> set[bytes]:
        """CA bundles in the callers."""
        group = self.bundle.group
        validating = self.kubectl.get("validatingwebhookconfiguration", f"validate.{PLURAL}.{group}")
        mutating = self.kubectl.get("mutatingwebhookconfiguration", f"mutate.{PLURAL}.{group}")
        hooks = [*validating["webhooks"], *mutating["webhooks"]]
        return {base64.b64decode(hook["clientConfig"].get("caBundle", "")) for hook in hooks}

    def served(self) -> bytes:
        """Certificate that the pod serves. The kubelet is made to look at its Secrets now, not within a minute."""
        inside = f"--namespace={self.namespace}"
        looks = self.kubectl.get("pods", inside)["metadata"]["resourceVersion"]
        self.kubectl.run("annotate", "pods", "--all", inside, f"example.com/looked-at={looks}", "--overwrite")
        command = [
            str(self.kubectl.program),
            f"--kubeconfig={self.kubectl.kubeconfig}",
            *("port-forward", inside, "--address=127.0.0.1"),
            *(f"deployment/{self.bundle.deployment_name}", f":{PORT}"),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forward:
            try:
                line = forward.stdout.readline() if forward.stdout is not None else ""
                port = re.search(r"127\.0\.0\.1:(\d+)", line)
                return ssl.get_server_certificate(("127.0.0.1", int(port[1]))).encode() if port is not None else b""
            finally:
                forward.kill()
