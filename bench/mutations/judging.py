"""Mutants judged: by an API server, which is the oracle, and by our own validation.

The server gets the objects of a rendering that differ from those of the source, by server-side apply with dry run. It
refuses a mutant when it refuses one of these, or does not have the kind although the group is one of Kubernetes. When
our rendering refuses first, that counts as well, and so does an error of `helm lint` about the files of a chart. The
validation finds a mutant when it has an error that the source does not have.
"""

import asyncio
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from bench.mutations.changes import Document
from bench.mutations.mutants import Mutant
from bench.mutations.sources import NAMESPACE, Source, opened, render_options
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.objects import GroupVersionKind, Object, canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.library import ChartOptions

AT_ONCE = 8
_LONGEST = 160
_GROUPS = frozenset(
    {"", "apps", "autoscaling", "batch", "extensions", "policy", "core", "app"}
    | {
        f"{name}.k8s.io"
        for name in (
            *("admissionregistration", "apiextensions", "apiregistration", "coordination", "discovery", "networking"),
            *("node", "rbac.authorization", "scheduling", "storage"),
        )
    }
)
_OF_KUBELETS = "[OBJ-013]"  # images: an API server takes any text for one


@dataclass(frozen=True, kw_only=True)
class Judged:
    set: str  # first, kept back
    sort: str
    family: str
    case: str
    is_unseen: bool  # only the set that is kept back has the case
    source: str
    place: str
    is_refused: bool
    by: str = ""  # server, rendering, or helm lint
    sentence: str = ""
    errors: list[str] = field(default_factory=list)  # the new ones

    @property
    def is_found(self) -> bool:
        return self.is_refused and bool(self.errors)

    @property
    def is_false_error(self) -> bool:
        return not self.is_refused and not all(one.endswith(_OF_KUBELETS) for one in self.errors)

    def as_document(self) -> Document:
        return asdict(self) | {"found": self.is_found, "false_error": self.is_false_error}


@dataclass(frozen=True, kw_only=True)
class _Baseline:
    """Facts about a source without a mutation."""

    objects: Counter[bytes]
    errors: Counter[tuple[str, str]]
    refusal: str = ""


class Judge:
    def __init__(self, client: Client, discovery: Discovery, *, helm: str) -> None:
        self._client, self._discovery, self._helm = client, discovery, helm
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._baselines: dict[str, asyncio.Task[_Baseline]] = {}
        self.wrong_sources: dict[str, list[str]] = {}  # the server takes all of their objects, the validation does not
        self.set_aside: Counter[str] = Counter()  # mutants that were not judged, by the reason

    async def judge(self, mutant: Mutant, *, in_set: str) -> Judged | None:
        """None: it cannot be judged, as the server refuses the source or does not have the changed kind."""
        baseline = await self._baseline(mutant.source)
        if baseline.refusal:
            self.set_aside[f"{mutant.source.sort} source {mutant.source.name}: {baseline.refusal}"] += 1
            return None
        by, sentence = "", ""
        bundle = opened(mutant.files, mutant.source.sort)
        try:
            manifests = self._rendered(mutant.source, mutant)
        except RukPakError as error:
            by, sentence = "rendering", str(error).partition("\n")[0]
        else:
            changed = list((Counter(map(canonical_json, manifests)) - baseline.objects).elements())
            refusals = await asyncio.gather(*map(self._refusal, changed))
            if changed and all(one is None for one in refusals):
                self.set_aside["the kind or the namespace is not there"] += 1
                return None
            sentence = next((one for one in refusals if one), "")
            by = "server" if sentence else ""
            if not by and mutant.source.is_text:
                sentence = await asyncio.to_thread(self._lint, mutant.files)
                by = "helm lint" if sentence else ""
        try:
            found = Counter((one.rule, one.message) for one in bundle.findings() if one.is_error)
        except RukPakError as error:
            found = Counter({("", str(error)): 1})
        return Judged(
            set=in_set,
            sort=mutant.source.sort,
            family=mutant.case.family,
            case=f"{mutant.case.target}: {mutant.case.name}",
            is_unseen=mutant.case.is_kept_back,
            source=mutant.source.name,
            place=mutant.place,
            is_refused=bool(by),
            by=by,
            sentence=sentence,
            errors=[f"{message} [{rule}]" for rule, message in (found - baseline.errors)],
        )

    async def _baseline(self, source: Source) -> _Baseline:
        key = f"{source.sort}/{source.name}"
        if key not in self._baselines:
            self._baselines[key] = asyncio.create_task(self._look_at(source))
        return await self._baselines[key]

    async def _look_at(self, source: Source) -> _Baseline:
        try:
            objects = Counter(map(canonical_json, self._rendered(source, None)))
        except RukPakError as error:
            return _Baseline(objects=Counter(), errors=Counter(), refusal=str(error))
        refusals = await asyncio.gather(*map(self._refusal, objects))
        bundle = opened(source.files, source.sort)
        errors = Counter((one.rule, one.message) for one in bundle.findings() if one.is_error)
        refusal = next((one for one in refusals if one), "")
        if errors and not refusal and None not in refusals:
            self.wrong_sources[f"{source.sort} {source.name}"] = [f"{message} [{rule}]" for rule, message in errors]
        return _Baseline(objects=objects, errors=errors, refusal=refusal)

    def _rendered(self, source: Source, mutant: Mutant | None) -> list[Document]:
        bundle = opened(source.files if mutant is None else mutant.files, source.sort)
        return bundle.render(render_options(bundle), ChartOptions(helm=self._helm)).all

    def _lint(self, files: Mapping[str, bytes]) -> str:
        """The first error of `helm lint` with the chart's own values."""
        with tempfile.TemporaryDirectory() as folder:
            for path, content in files.items():
                (place := Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            done = subprocess.run([self._helm, "lint", folder], check=False, capture_output=True, text=True)
        lines = done.stdout.replace(folder, "chart").splitlines()
        errors = [line for line in lines if line.startswith("[ERROR]")]
        return "" if done.returncode == 0 else next(iter(errors), done.stderr)

    async def _refusal(self, body: bytes) -> str | None:
        """The sentence of the server; empty where it takes the object, None where it cannot tell."""
        made = Object.from_manifest(orjson.loads(body))
        key, gvk = made.head.key, made.head.gvk
        resource = self._discovery.find(gvk)
        if resource is None:
            return f"no matches for kind {key.kind} in {_version(gvk)}" if gvk.group in _GROUPS else None
        if not key.name:
            return "metadata.name: Required value"
        namespace = (key.namespace or NAMESPACE) if resource.namespaced else ""
        try:
            async with self._slots:
                await self._client.apply(
                    resource, namespace, key.name, made.json, field_manager="bench", force=True, dry_run=True
                )
        except NotFoundError:
            return None  # a namespace that is not there
        except UnavailableError:
            raise
        except ApiError as error:
            causes = [f"{cause.field}: {cause.message or 'refused'}" for cause in error.causes]  # none about a Secret
            return f"{key.kind}: {next(iter(causes), error.message)}"
        return ""


def _version(gvk: GroupVersionKind) -> str:
    return f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version


def template(sentence: str) -> str:
    """The sentence without values, kinds and the fields around the last one: the same refusal elsewhere is the same."""
    text = re.sub(r"^[A-Z]\w+: ", "", sentence.partition("\n")[0])
    text = re.sub(r'"[^"]*"|\'[^\']*\'|`[^`]*`|\[[^\]]*\]|\([^)]*\)', "…", text)
    text = re.sub(r"\{[^}]*\}+", "…", text)
    text = re.sub(r"[\w…]*(?:\.[\w…$-]+)*\.([\w$-]+…?)(?=: )", r"*.\1", text, count=1)
    return re.sub(r"\d+", "…", text)[:_LONGEST]
