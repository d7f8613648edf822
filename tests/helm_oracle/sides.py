"""The same steps by helm and by the operator, each in a cluster of its own."""

import asyncio
import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import orjson
import yaml

from rukpak_py.api.names import HELM_CLASS, RECONCILE_AT_ANNOTATION
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.helm_oracle.cases import Case, ChartVersion, Step, files_of
from tests.helm_oracle.cluster import Cluster
from tests.helm_oracle.comparing import RandomPath, random_paths
from tests.helm_oracle.snapshot import Snapshot, snapshot_of
from tests.manifests import Document, deployment
from tests.waiting import eventually, until_gone

STEP_SECONDS = 60.0
SETTLED_SECONDS = 5.0  # the same refusal for so long: what it waits for does not come
REVISION_OF_INSTALLATION = 1
EMPTY_NAMESPACE = "default"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`message`: why it was not done."""

    done: bool
    message: str = ""


DONE = Answer(done=True)


class Side(Protocol):
    @property
    def cluster(self) -> Cluster: ...
    async def act(self, case: Case, step: Step) -> Answer: ...


@dataclass(kw_only=True)
class HelmSide:
    """`home`: a folder for what helm keeps, and for files of values."""

    program: Path
    kubeconfig: Path
    home: Path
    cluster: Cluster

    async def act(self, case: Case, step: Step) -> Answer:
        match step:
            case Step.INSTALL:
                arguments = ["install", case.release, *self._chart(case, step)]
            case Step.UPGRADE | Step.VALUES:
                arguments = ["upgrade", case.release, *self._chart(case, step)]
            case Step.BACK:
                arguments = ["rollback", case.release, str(REVISION_OF_INSTALLATION)]
            case Step.DELETE:
                arguments = ["uninstall", case.release]
        limit = f"--timeout={STEP_SECONDS:.0f}s"
        async with self.cluster.ending_pods(case.namespace):
            code, _, errors = await self._run(*arguments, limit, namespace=case.namespace)
        return DONE if code == 0 else Answer(done=False, message=errors.strip())

    async def random_paths(self, case: Case, step: Step) -> set[RandomPath]:
        """Find random values by two renderings for another namespace, where `lookup` finds nothing of the release."""
        first, second = [await self._rendered(case, step) for _ in range(2)]
        return random_paths(first, second)

    async def _rendered(self, case: Case, step: Step) -> Snapshot:
        chart, values = self._chart(case, step)
        served = await self.cluster.api_versions()
        versions = (f"--api-versions={','.join(served)}", f"--kube-version={await self.cluster.version()}")
        arguments = ("template", case.release, chart, values, *versions, "--dry-run=server")
        code, output, _ = await self._run(*arguments, namespace=EMPTY_NAMESPACE)
        documents = yaml.load_all(output, yaml.CSafeLoader) if code == 0 else ()
        return snapshot_of(one for one in documents if one)

    def _chart(self, case: Case, step: Step) -> tuple[str, str]:
        file = self.home / f"{case.release}-{step}.yaml"
        file.write_text(yaml.safe_dump(dict(case.values_of(step))))
        return str(case.chart_of(step).path), f"--values={file}"

    async def _run(self, *arguments: str, namespace: str) -> tuple[int, str, str]:
        """The exit code, the output, and what it says of errors."""
        homes = {f"HELM_{name}_HOME": str(self.home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        process = await asyncio.create_subprocess_exec(
            str(self.program),
            *arguments,
            f"--namespace={namespace}",
            f"--kubeconfig={self.kubeconfig}",
            env={**os.environ, **homes},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            output, errors = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        assert process.returncode is not None
        return process.returncode, output.decode(errors="replace"), errors.decode(errors="replace")


@dataclass(kw_only=True)
class OperatorSide:
    """`archives`: the address of a web server that has each archive below its file's name."""

    cluster: Cluster
    archives: str
    system: str
    _revisions: dict[str, int] = field(default_factory=dict)

    @property
    def _client(self) -> Client:
        return self.cluster.client

    async def act(self, case: Case, step: Step) -> Answer:
        async with self.cluster.ending_pods(case.namespace):
            if step is Step.DELETE:
                return await self._deleted(case)
            source = await self._source(case, case.chart_of(step))
            body = deployment(
                case.release,
                source,
                provisionerClassName=HELM_CLASS,
                installNamespace=case.namespace,
                config={**case.config, "values": dict(case.values_of(step))},
                prune={"when": "AfterApply"},  # as helm: no workload has to be healthy first
            )
            body["spec"]["template"]["spec"]["provisionerClassName"] = HELM_CLASS
            await self._send(case.release, body)
            return await self._judged(case.release)

    async def revision(self, case: Case) -> int:
        """Revision of the installed release."""
        return _revision(orjson.loads(await self._client.get(BUNDLE_DEPLOYMENTS, "", case.release)))

    async def apply_again(self, case: Case) -> str:
        """Ask for it, as a user may, and wait until that is done or refused. Why it was refused."""
        asked = uuid.uuid4().hex
        body = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: asked}}})
        await self._client.patch(BUNDLE_DEPLOYMENTS, "", case.release, body)
        refusals = _Refusals()

        async def look() -> Answer | None:
            live = orjson.loads(await self._client.get(BUNDLE_DEPLOYMENTS, "", case.release))
            if live["status"].get("lastHandledReconcileAt") == asked:
                return DONE
            message = _condition(live, "Ready").get("message", "")
            return Answer(done=False, message=message) if refusals.is_settled(message) else None

        return (await eventually(look, what=f"{case.release} is applied again", seconds=STEP_SECONDS)).message

    async def _send(self, name: str, body: Document) -> None:
        """As `kubectl replace`: nothing of the former spec stays, and a null stays a null."""
        try:
            live = json.loads(await self._client.get(BUNDLE_DEPLOYMENTS, "", name))
        except NotFoundError:
            await self._client.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(body))
            self._revisions[name] = 0
            return
        self._revisions[name] = _revision(live)
        patch = [{"op": "replace", "path": "/spec", "value": body["spec"]}]
        await self._client.patch(
            BUNDLE_DEPLOYMENTS, "", name, orjson.dumps(patch), content_type="application/json-patch+json"
        )

    async def _judged(self, name: str) -> Answer:
        refusals = _Refusals()

        async def look() -> Answer | None:
            live = json.loads(await self._client.get(BUNDLE_DEPLOYMENTS, "", name))
            return _judge(live, self._revisions[name], refusals)

        try:
            return await eventually(look, what=f"{name} is installed or refused", seconds=STEP_SECONDS)
        except TimeoutError as error:
            return Answer(done=False, message=str(error))

    async def _deleted(self, case: Case) -> Answer:
        await self._client.delete(BUNDLE_DEPLOYMENTS, "", case.release)
        try:
            await until_gone(self._client, BUNDLE_DEPLOYMENTS, "", case.release, seconds=STEP_SECONDS)
        except TimeoutError:
            live = json.loads(await self._client.get(BUNDLE_DEPLOYMENTS, "", case.release))
            return Answer(done=False, message=_condition(live, "Ready").get("message", ""))
        return DONE

    async def _source(self, case: Case, chart: ChartVersion) -> Document:
        if chart.path.is_file():
            return {"type": "http", "http": {"url": f"http://{self.archives}/{chart.path.name}"}}
        return await self._config_maps(case.release, chart)

    async def _config_maps(self, name: str, chart: ChartVersion) -> Document:
        """One for each directory of the chart."""
        folders: dict[str, dict[str, str]] = {}
        for path, file in files_of(chart.path):
            folder, _, last = path.rpartition("/")
            folders.setdefault(f"{name}/{folder}".rstrip("/"), {})[last] = file.read_text()
        items = []
        for number, (folder, data) in enumerate(folders.items()):
            metadata = {"name": f"{name}-{chart.version}-{number}", "namespace": self.system}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True, "data": data}
            await self._client.apply(
                CONFIG_MAPS, self.system, metadata["name"], orjson.dumps(body), field_manager="user", force=True
            )
            items.append({"path": folder, "configMap": {"name": metadata["name"]}})
        return {"type": "configMaps", "configMaps": items}


@dataclass(kw_only=True)
class _Refusals:
    """Since when the deployment has said the same."""

    said: str = ""
    since: float = 0.0

    def is_settled(self, message: str) -> bool:
        if message != self.said:
            self.said, self.since = message, monotonic()
        return bool(message) and monotonic() - self.since >= SETTLED_SECONDS


def _judge(live: Mapping[str, Any], former: int, refusals: _Refusals) -> Answer | None:
    """None: it may still be installed. Its pods are not waited for: no node runs them."""
    status = live.get("status") or {}
    if status.get("observedGeneration") != live["metadata"]["generation"]:
        return None
    is_installed = _condition(live, "Installed").get("status") == "True"
    if is_installed and (_revision(live) > former or _condition(live, "Ready").get("status") == "True"):
        return DONE  # without a new revision: it was installed already
    message = _condition(live, "Ready").get("message", "")
    if _condition(live, "Stalled").get("status") == "True":
        return Answer(done=False, message=message)
    is_refused = any(_condition(live, kind).get("status") == "False" for kind in ("Installed", "HasValidBundle"))
    return Answer(done=False, message=message) if refusals.is_settled(message if is_refused else "") else None


def _revision(live: Mapping[str, Any]) -> int:
    history = (live.get("status") or {}).get("history") or [{}]
    return int(history[0].get("revision", 0))


def _condition(live: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    conditions = (live.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})
