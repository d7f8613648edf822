"""The request for a rendering: what it depends on beside the chart, the release, its values and the cluster's kinds.

Values come as documents in order; a later one wins, mapping by mapping, as with several `--values` of helm. They are
read by our rules of YAML and merged here, so that one document goes to helm, and never by a file on disk: values hold
passwords. `null` stays in the merged document: helm takes it as the wish to drop a default of the chart.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.masking import Mask, Value
from rukpak_py.formats.helm.api_answers import ApiAnswers
from rukpak_py.formats.helm.chart import Chart
from rukpak_py.formats.helm.cluster_view import ClusterView, LookUp
from rukpak_py.formats.helm.output import with_own_kinds
from rukpak_py.formats.helm.settings import SETTINGS, VALUES_FROM
from rukpak_py.formats.type_defects import kind_of

DEFAULT_RELEASE = "release-name"  # helm's own
_VALUES = "values"
_READING = "read chart values: "


@dataclass(frozen=True, kw_only=True, slots=True)
class ValuesDocument:
    """`origin` names it in messages; what is secret is taken out of messages that come from helm."""

    document: str | bytes | Mapping[str, Any] = field(repr=False)
    origin: str = ""
    is_secret: bool = False

    def read(self, limits: Limits) -> dict[str, Any]:
        """ContentError for what is no mapping."""
        if isinstance(self.document, Mapping):
            return dict(self.document)
        text = self.document.encode() if isinstance(self.document, str) else self.document
        where = f"{self.origin}: " if self.origin else ""
        try:
            values = yaml.load(text, limits=limits, unsigned=True)
        except ContentError as error:
            told = str(error)
            if self.is_secret and isinstance(error, YamlError):  # it may quote the document
                told = f"invalid YAML at line {error.line}, column {error.column}" if error.line else "invalid YAML"
            raise ContentError(f"{_READING}{where}{told}") from error
        if values is None:
            return {}
        if not isinstance(values, dict):
            raise ContentError(f"{_READING}{where}values must be an object, got {kind_of(values)}")
        return values

    @property
    def lines(self) -> list[str]:
        """Lines of the document, where it is a text."""
        text = self.document.decode(errors="replace") if isinstance(self.document, bytes) else self.document
        return text.splitlines() if isinstance(text, str) else []


@dataclass(frozen=True, kw_only=True, slots=True)
class HelmRequest:
    release_name: str = DEFAULT_RELEASE
    namespace: str  # .Release.Namespace; objects without a namespace go there
    values: tuple[ValuesDocument, ...] = ()
    settings: tuple[str, ...] = field(default=(), repr=False)  # key=value as in --set of helm; on its command line
    kube_version: str | None = None  # None: what this helm takes for the newest
    api_versions: tuple[str, ...] | None = None  # `apps/v1`, `apps/v1/Deployment`; they add to those that helm knows
    is_upgrade: bool = False
    cluster: "ChartCluster | None" = None  # what templates see of it; then no version is told


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartCluster:
    view: ClusterView
    look_up: LookUp

    def answers(self, chart: Chart, limits: Limits) -> ApiAnswers:
        return ApiAnswers(with_own_kinds(self.view, chart, limits), self.view, self.look_up)


def values_of_config(config: Mapping[str, Any]) -> tuple[ValuesDocument, ...]:
    """Values in a BundleDeployment's `spec.config`: its `values`, a YAML text as upstream wants it, or an object.

    Upstream ignores other keys, but reads all of them as strings. What `valuesFrom` refers to is not read here, and
    neither are the settings.
    """
    for key, value in config.items():
        allowed = str | Mapping if key == _VALUES else str
        if key not in {VALUES_FROM, *SETTINGS} and value is not None and not isinstance(value, allowed):
            raise ContentError(f"parse deployment config: spec.config.{key} {_what_is_wrong(key, value)}")
    values = config.get(_VALUES)
    return () if values is None else (ValuesDocument(document=values),)


def _what_is_wrong(key: str, value: object) -> str:
    if key == _VALUES:
        return f"must be an object or a string of YAML, got {kind_of(value)}"
    near = get_close_matches(key, (_VALUES, VALUES_FROM, *sorted(SETTINGS)), n=1)
    advice = f"did you mean spec.config.{near[0]}?" if near else "values of the chart belong in spec.config.values"
    return f"is not used for charts; {advice}"


def merged_values(documents: Iterable[ValuesDocument], limits: Limits = DEFAULT_LIMITS) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for document in documents:
        merged = merged_mappings(merged, document.read(limits))
    return merged


def merged_mappings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Deep for mappings; anything else is replaced, lists as a whole."""
    merged = dict(base)
    for key, value in over.items():
        former = merged.get(key)
        both = isinstance(former, Mapping) and isinstance(value, Mapping)
        merged[key] = merged_mappings(former, value) if both else value  # type: ignore[arg-type]  # `both` says it
    return merged


def without_secrets(text: str, documents: Sequence[ValuesDocument], limits: Limits) -> str:
    """A message with every text and number of the secret documents taken out."""
    return Mask(secret_values((one for one in documents if one.is_secret), limits)).hide(text)


def secret_values(documents: Iterable[ValuesDocument], limits: Limits = DEFAULT_LIMITS) -> Iterator[Value]:
    """All texts and numbers; of a document that cannot be read, its lines."""
    for document in documents:
        try:
            yield from leaves_of(document.read(limits))
        except ContentError:
            yield from document.lines


def leaves_of(value: object) -> Iterator[Value]:
    """The texts and numbers in it."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as mapping:
                waiting += mapping.values()
            case list() as items:
                waiting += items
            case None | bool():
                continue
            case int() | float() | str() as leaf:
                yield leaf
            case leaf:
                yield str(leaf)
