"""A chart rendered by the real `helm template`, cut off from the network and the disk.

* With a `cluster` in the request `lookup` and `.Capabilities` are as for `helm install` there: helm asks an API server
  of ours, which reads and nothing else. Without one `lookup` finds nothing, and `.Capabilities` are what the request
  says. DNS is off.
* Some functions are random or tell the time (`randAlphaNum`, `genCA`, `now`): the same request may give another
  rendering. Render once for each digest, values and capabilities, and keep what came out.
* What helm prints is read by our rules of YAML and within our limits. Files of crds/, hooks and all other objects are
  kept apart; tests are left out. Objects come in helm's order of installation, hooks in the order in which they run.
* A failure that helm reports is a ContentError: about the chart, or its values. A helm that cannot be started, or that
  another process ended, is an UnavailableError.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from rukpak_py.content.tar import write_tgz
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits, readable_size
from rukpak_py.core.objects import Object, canonical_json
from rukpak_py.formats.helm.chart import Chart, read_chart
from rukpak_py.formats.helm.layout import archived, loaded_files
from rukpak_py.formats.helm.output import crd_files, sections
from rukpak_py.formats.helm.process import Bounds, Ended, HelmProgram, Pipe, Stop, memory_file, path_of, post_renderer
from rukpak_py.formats.helm.rendered_objects import RenderedObjects
from rukpak_py.formats.helm.request import HelmRequest, merged_values, without_secrets
from rukpak_py.formats.helm.schemas import why_unchecked
from rukpak_py.formats.hook import Hook

_UNKNOWN_HOOK: Final = re.compile(r'info: skipping unknown hook: "(.*)"')
_OUT_OF_MEMORY: Final = re.compile(r"out of memory|cannot allocate memory|failed to create new OS thread")
_CRASH: Final = re.compile(r"^(?:fatal error|panic|runtime): (.*)", re.MULTILINE)
_ERROR: Final = re.compile(r"^Error: ", re.MULTILINE)
_PLACE: Final = re.compile(r"/proc/self/fd/\d+")
_ADVICE: Final = "Use --debug flag to render out invalid YAML"
_LONGEST_ERROR: Final = 4_000
_SCHEMA: Final = "values don't meet the specifications of the schema(s) in the following chart(s):"
_AT_THE_ROOT: Final = ("(root): ", "at '': ")
_RAISED: Final = re.compile(r"execution error at \(([^()\n]{1,500}?):\d{1,9}\): ")  # fail and required
_UNPARSED: Final = re.compile(r"parse error at \(([^()\n]{1,500})\): ")
# Go shortens the expression to twenty characters.
_TEMPLATE: Final = "template: "
_CALL: Final = re.compile(  # tried where one begins, not searched for: a search would read long names again and again
    r'template: ([^\n":]{1,500}+:\d{1,9}+):\d{1,9}+: executing "[^"\n]{0,500}+" at (<[^\n]{0,90}?>): '
)
_BY_TPL: Final = "gotpl:"  # a template that is made of a value: the one that called `tpl` is where to look
_FUNCTION: Final = re.compile(r"error calling (?:fail|required): ")


class RaisedByChartError(ContentError):
    """The chart itself refuses its values, by `fail` or `required`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HelmRendering:
    crds: tuple[Object, ...]  # of crds/: installed first, never upgraded or pruned by helm
    objects: tuple[Object, ...]
    hooks: tuple[Hook, ...]
    test_hooks: int  # left out
    unknown_hooks: tuple[str, ...] = ()  # events that helm does not know; it leaves such objects out
    unchecked: tuple[str, ...] = ()  # why values were not checked by schemas; empty: they were
    sources: tuple[str, ...] = ()  # the template of each object, then of each hook


def render_chart(
    tree: Tree,
    request: HelmRequest,
    program: HelmProgram,
    *,
    chart: Chart | None = None,
    is_directory: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> HelmRendering:
    """`chart` is what was read of the tree, where that has been done. `is_directory`: see `read_chart`."""
    chart = chart or read_chart(tree, limits, is_directory=is_directory)
    unchecked = why_unchecked(chart)
    files = loaded_files(tree, is_directory=is_directory)
    ended = _run(files, request, program, limits, chart=chart, is_checked=not unchecked)
    try:
        collected = RenderedObjects(request.namespace, limits)
        for section in sections(ended.output, crd_files(chart)):
            collected.add(section)
    except ContentError as error:
        raise type(error)(_cleaned(str(error), request, limits)) from error
    hooks = sorted(collected.hooks, key=lambda hook: hook.order)
    return HelmRendering(
        crds=tuple(collected.crds.values()),
        objects=tuple(collected.objects.values()),
        hooks=tuple(hooks),
        sources=(
            *(collected.sources[one] for one in collected.objects),
            *(collected.hook_sources[id(one)] for one in hooks),
        ),
        test_hooks=collected.test_hooks,
        unknown_hooks=tuple(_UNKNOWN_HOOK.findall(ended.errors)),
        unchecked=tuple(unchecked),
    )


def _run(
    files: Tree, request: HelmRequest, program: HelmProgram, limits: Limits, *, chart: Chart, is_checked: bool
) -> Ended:
    bounds = Bounds(memory=limits.helm_bytes, seconds=limits.helm_seconds, output=limits.rendered_bytes)
    values = canonical_json(merged_values(request.values, limits))
    cluster = request.cluster
    with ExitStack() as stack:
        archive = stack.enter_context(memory_file("chart", write_tgz(archived(files))))
        stdin = stack.enter_context(memory_file("values", [values]))
        taken = stack.enter_context(Pipe()) if cluster is not None else None
        arguments = _arguments(request, path_of(archive), is_checked=is_checked, taken=taken)
        answer = cluster.answers(chart, limits).answer if cluster is not None else None
        ended = program.run(arguments, bounds=bounds, stdin=stdin, files=[archive], taken=taken, answer=answer)
    _demand_success(ended, request, limits)
    return ended


def _arguments(request: HelmRequest, chart: str, *, is_checked: bool, taken: Pipe | None) -> list[str]:
    if taken is None:
        versions = [] if request.kube_version is None else [f"--kube-version={request.kube_version}"]
        capabilities = [*versions, *(f"--api-versions={version}" for version in request.api_versions or ())]
    else:  # `--dry-run=server` looks objects up, and only with `--validate` helm asks what is served
        capabilities = ["--dry-run=server", "--validate", "--disable-openapi-validation", *post_renderer(taken.end)]
    return [
        *("template", f"--namespace={request.namespace}", "--include-crds", "--values=-"),
        *(f"--set={setting}" for setting in request.settings),
        *capabilities,
        *(("--is-upgrade",) if request.is_upgrade else ()),
        *(() if is_checked else ("--skip-schema-validation",)),
        *("--", request.release_name, chart),
    ]


def _demand_success(ended: Ended, request: HelmRequest, limits: Limits) -> None:
    match ended.stop:
        case Stop.TIME:
            raise limits.exceeded("helm_seconds", "the time (in seconds) to render the chart")
        case Stop.OUTPUT:
            raise limits.exceeded("rendered_bytes", "the size of what the chart renders")
        case None if ended.code < 0:
            raise UnavailableError(f"helm was ended by signal {-ended.code}; maybe the machine ran out of memory")
        case None if ended.code > 0:
            raise _failure(ended, request, limits)
        case _:
            return


def _failure(ended: Ended, request: HelmRequest, limits: Limits) -> ContentError:
    said = ended.errors
    if begin := _ERROR.search(said):
        text = said[begin.end() :]
        kind = RaisedByChartError if _RAISED.search(text) or _FUNCTION.search(text) else ContentError
        return kind(cause_first(_cleaned(text, request, limits)))
    if _OUT_OF_MEMORY.search(said):
        if ended.memory >= limits.helm_bytes:
            return limits.exceeded("helm_bytes", "the memory to render the chart")
        return ContentError(
            f"rendering the chart needs more than {readable_size(ended.memory)} of memory, which is the limit of the "
            "process that asks for it; raise the memory limit of the operator's container"
        )
    if crash := _CRASH.search(said):
        return ContentError(f"helm crashed while it rendered the chart: {_cleaned(crash[1], request, limits)}")
    return ContentError(_cleaned(said, request, limits) or "helm failed and did not say why")


def _cleaned(said: str, request: HelmRequest, limits: Limits) -> str:
    text = _PLACE.sub("the chart", said.strip().removesuffix(_ADVICE).strip())
    text = without_secrets(text, request.values, limits)
    if len(text) <= _LONGEST_ERROR:
        return text
    start = _LONGEST_ERROR // 4  # a template that calls templates says the cause at the end
    return f"{text[:start]} ... {text[start - _LONGEST_ERROR :]}"


def cause_first(said: str) -> str:
    r"""Put the cause on the first line of helm's error, without `Error: `.

    helm begins with a headline, or with the template that called the one that failed, and says the cause last, often on
    another line: conditions and Events show the first line alone. What is rearranged is helm's own printed form; a text
    of another form stays as it is, and nothing else depends on it.

    values don't meet the specifications ...:\nshop:\n- at '/a': got string   ->  values: shop: at '/a': got string
    execution error at (shop/templates/a.yaml:5:4): \nPASSWORDS ERROR: ...    ->  shop/templates/a.yaml:5: PASSWORDS ...
    template: A:1:6: executing "A" at <X>: error calling include: template: B:2:10: executing "b" at <Y>: why
                                                                              ->  B:2: at <Y>: why, then the whole
    """
    if said.startswith(_SCHEMA):
        return _of_values(said.removeprefix(_SCHEMA).strip()) or said
    if raised := _RAISED.match(said):
        return f"{raised[1]}: {said[raised.end() :].strip()}"
    if unparsed := _UNPARSED.match(said):
        return f"{unparsed[1]}: parse error: {said[unparsed.end() :].strip()}"
    calls = [call for at in _beginnings(said) if (call := _CALL.match(said, at))]
    if not calls or calls[0].start() != 0:
        return said
    last = calls[-1]
    of_files = [call for call in calls if not call[1].startswith(_BY_TPL)]
    place = (of_files or calls)[-1][1]
    why = _FUNCTION.sub("", said[last.end() :], count=1).strip()
    first = f"{place}: at {last[2]}: {why}"
    return first if len(calls) == 1 else f"{first}\n{said}"


def _of_values(lines: str) -> str:
    """A line for each chart, then one for each of its problems; both libraries that helm has had for schemas."""
    charts: list[str] = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        if not charts or (line.endswith(":") and not line.startswith("- ")):
            charts.append(line)
            continue
        problem = line.removeprefix("- ")
        for root in _AT_THE_ROOT:
            problem = problem.removeprefix(root)
        charts[-1] += f"{'' if charts[-1].endswith(':') else ';'} {problem}"
    return f"values: {'; '.join(charts)}" if charts else ""


def _beginnings(said: str) -> Iterator[int]:
    at = said.find(_TEMPLATE)
    while at >= 0:
        yield at
        at = said.find(_TEMPLATE, at + len(_TEMPLATE))
