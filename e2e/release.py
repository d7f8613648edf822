"""The chart's release in a cluster: what Helm does to it, and what can be seen of it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from e2e.kubectl import KubectlError
from tools.chart import CHART, NAMESPACE

if TYPE_CHECKING:
    from pathlib import Path

    from e2e.kubectl import Kubectl

NAME = "rukpak"
WEBHOOKS = "rukpak-validating-webhook-configuration"


@dataclass(frozen=True, kw_only=True)
class Release:
    helm: Path
    kubectl: Kubectl
    chart: Path = CHART

    def install(self, *settings: str) -> str:
        return self._change("install", settings)

    def upgrade(self, *settings: str, force: bool = False) -> str:
        return self._change("upgrade", settings, *(["--force"] if force else []))

    def uninstall(self, *, missing_ok: bool = False) -> None:
        self._helm("uninstall", NAME, "--wait", *(["--ignore-not-found"] if missing_ok else []))

    def pods(self) -> list[dict[str, Any]]:
        """Those that are not on their way out."""
        found = self.kubectl.get("pods", "--namespace", NAMESPACE, "--selector=app=core")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def ca_bundles(self) -> list[str]:
        """One for each webhook; empty where the operator has not written it."""
        webhooks = self.kubectl.get("validatingwebhookconfiguration", WEBHOOKS)["webhooks"]
        return [webhook["clientConfig"].get("caBundle", "") for webhook in webhooks]

    def leader(self) -> str:
        """The name of the pod that holds the operator's Lease; empty when none does."""
        names = [str(pod["metadata"]["name"]) for pod in self.pods()]
        for lease in self.kubectl.get("leases", "--namespace", NAMESPACE)["items"]:
            holder = lease["spec"].get("holderIdentity") or ""
            for name in names:
                if holder.startswith(name):
                    return name
        return ""

    def logs(self) -> str:
        """Logs of all pods, also those on their way out; one may be gone before it is asked."""
        found = self.kubectl.get("pods", "--namespace", NAMESPACE, "--selector=app=core")["items"]
        return "\n".join(self._logs_of(pod["metadata"]["name"]) for pod in found)

    def diagnosis(self) -> str:
        """For the output of a failed test."""
        parts = []
        for command in (
            ("describe", "deployments,pods", "--namespace", NAMESPACE),
            ("get", "rukpak", "--output=yaml"),
            ("logs", "--namespace", NAMESPACE, "--selector=app=core", "--tail=100", "--prefix"),
        ):
            try:
                parts.append(self.kubectl.run(*command))
            except KubectlError as error:
                parts.append(str(error))
        return "\n\n".join(parts)

    def _logs_of(self, pod: str) -> str:
        try:
            return self.kubectl.run("logs", "--namespace", NAMESPACE, pod, "--tail=-1")
        except KubectlError as error:
            if "not found" not in str(error):
                raise
            return ""

    def _change(self, verb: str, settings: tuple[str, ...], *flags: str) -> str:
        values = [f"--set={setting}" for setting in settings]
        return self._helm(verb, NAME, str(self.chart), "--wait", "--timeout=180s", *flags, *values)

    def _helm(self, *arguments: str) -> str:
        command = [str(self.helm), *arguments, f"--namespace={NAMESPACE}", f"--kubeconfig={self.kubectl.kubeconfig}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
        if done.returncode != 0:
            raise AssertionError(f"helm {' '.join(arguments)}: {done.stderr.strip()}\n\n{self.diagnosis()}")
        return done.stdout
