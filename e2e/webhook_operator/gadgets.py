"""Gadgets of one group in a cluster, as a user with kubectl has them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from e2e.kubectl import Kubectl, KubectlError
from e2e.waiting import eventually
from e2e.webhook_operator.definition import KIND, PLURAL

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class Gadgets:
    kubectl: Kubectl
    group: str
    namespace: str = "default"

    def apply(self, version: str, name: str, **spec: Any) -> dict[str, Any]:
        """Its spec as it was written."""
        gadget = {
            "apiVersion": f"{self.group}/{version}",
            "kind": KIND,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }
        apply = ("apply", "--server-side", "--output=json", "--filename=-")
        return dict(json.loads(self.kubectl.run(*apply, stdin=json.dumps(gadget)))["spec"])

    def spec(self, version: str, name: str) -> dict[str, Any]:
        return dict(self.kubectl.get(self._resource(version), name, f"--namespace={self.namespace}")["spec"])

    def sizes(self, version: str, names: Sequence[str]) -> list[int | None]:
        """In the terms of either version."""
        specs = [self.spec(version, name) for name in names]
        return [spec.get("size") if version == "v1" else spec.get("dimensions", {}).get("width") for spec in specs]

    def set_finalizers(self, version: str, name: str, finalizers: list[str]) -> None:
        patch = json.dumps({"metadata": {"finalizers": finalizers}})
        inside = f"--namespace={self.namespace}"
        self.kubectl.run("patch", self._resource(version), name, inside, "--type=merge", f"--patch={patch}")

    def until_denied(self, version: str, message: str, **spec: Any) -> None:
        """A configuration takes a moment to count, and a Service to have its pods behind it."""
        eventually(lambda: message in self._denial(version, spec), what=f"a write of {spec} is denied: {message}")

    def until_served(self, version: str) -> None:
        eventually(lambda: self.is_served(version), what=f"{version} is served")

    def is_served(self, version: str) -> bool:
        try:
            self.kubectl.run("get", self._resource(version), f"--namespace={self.namespace}")
        except KubectlError:
            return False
        return True

    def stored_versions(self) -> list[str]:
        return list(self.kubectl.get("crd", f"{PLURAL}.{self.group}")["status"]["storedVersions"])

    def _denial(self, version: str, spec: dict[str, Any]) -> str:
        try:
            self.apply(version, "denied", **spec)
        except KubectlError as error:
            return str(error)
        return ""

    def _resource(self, version: str) -> str:
        return f"{PLURAL}.{version}.{self.group}"
