"""Users who never pause: each turn creates a Bundle, is denied a change of its spec, and upgrades a BundleDeployment.

kubectl sends each request once, so an answer that is not the expected one is one that a user sees. The denial shows
that the webhook was reached: a request that it had not seen would have passed, or failed with another text.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from e2e.kubectl import Kubectl, KubectlError
from e2e.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

IMMUTABLE = 'admission webhook "vbundles.core.rukpak.io" denied the request: bundle.spec is immutable'
DEPLOYMENTS = 4  # of each user, upgraded in turn
KEPT_BUNDLES = 3
VERSIONS = 2  # of the content, in turn
PLAIN = "core-rukpak-io-plain"


class User(threading.Thread):
    """`turns` counts the turns, `unexpected` has the answers that a user must not get."""

    def __init__(self, kubectl: Kubectl, name: str, namespace: str) -> None:
        super().__init__(name=name, daemon=True)
        self.turns = 0
        self.unexpected: list[str] = []
        self.wanted: dict[str, str] = {}  # version of the content by deployment
        self._kubectl = kubectl
        self._namespace = namespace
        self._ends = threading.Event()  # `_stop` is a method of Thread

    def end(self) -> None:
        self._ends.set()
        self.join()

    def run(self) -> None:
        while not self._ends.is_set():
            self._turn(self.turns)
            self.turns += 1

    def prepare(self) -> None:
        """The contents exist, and are immutable."""
        for deployment in range(DEPLOYMENTS):
            for version in range(VERSIONS):
                name = f"{self.name}-{deployment}"
                applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
                content = {"a.yaml": json.dumps(applied | {"data": {"version": str(version)}})}
                metadata = {"name": f"{name}-v{version}", "namespace": self._namespace}
                document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True}
                self._kubectl.run(
                    "apply", "--server-side", "--filename=-", stdin=json.dumps(document | {"data": content})
                )

    def _turn(self, number: int) -> None:
        deployment, version = f"{self.name}-{number % DEPLOYMENTS}", number // DEPLOYMENTS % VERSIONS
        bundle = f"{self.name}-b{number}"
        source = {
            "type": "configMaps",
            "configMaps": [{"path": "manifests", "configMap": {"name": f"{deployment}-v{version}"}}],
        }
        spec = {"provisionerClassName": PLAIN, "source": source}
        self._sends(_document("Bundle", bundle, spec), "create")
        self._is_denied("patch", "bundle", bundle, "--type=merge", '--patch={"spec":{"provisionerClassName":"other"}}')
        template = {"provisionerClassName": PLAIN, "template": {"spec": spec}}
        self._sends(_document("BundleDeployment", deployment, template), "apply", "--server-side")
        self.wanted[deployment] = str(version)
        if number >= KEPT_BUNDLES:
            self._expect("delete", "bundle", f"{self.name}-b{number - KEPT_BUNDLES}", "--wait=false")

    def _sends(self, document: dict[str, Any], *command: str) -> None:
        self._expect(*command, "--filename=-", stdin=json.dumps(document))

    def _expect(self, *command: str, stdin: str | None = None) -> None:
        try:
            self._kubectl.run(*command, stdin=stdin)
        except KubectlError as error:
            self._note(command, str(error))

    def _is_denied(self, *command: str) -> None:
        try:
            said = self._kubectl.run(*command)
        except KubectlError as error:
            said = str(error)
        if IMMUTABLE not in said:
            self._note(command, said)

    def _note(self, command: tuple[str, ...], said: str) -> None:
        self.unexpected.append(f"{time.strftime('%H:%M:%S')} {' '.join(command)}: {said}")


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "core.rukpak.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@contextmanager
def load(kubectl: Kubectl, namespace: str, *names: str) -> Iterator[list[User]]:
    """Users at work from the first statement of the block on."""
    users = [User(kubectl, name, namespace) for name in names]
    for user in users:
        user.prepare()
        user.start()
    try:
        turns_of_all(users, 1)
        yield users
    finally:
        for user in users:
            user.end()


def turns_of_all(users: list[User], count: int) -> None:
    """Wait for so many more turns of each user."""
    goals = [user.turns + count for user in users]
    eventually(
        lambda: all(user.turns >= goal for user, goal in zip(users, goals, strict=True)),
        what=f"{count} more turns of each user",
        seconds=120,
    )
