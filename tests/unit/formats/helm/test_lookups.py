"""The cluster as the real helm sees it: served kinds, objects that lookups find, and answers that end a rendering."""

import json
import os
from collections.abc import Mapping
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.helm import process
from rukpak_py.formats.helm.api_answers import status_body
from rukpak_py.formats.helm.api_server import API_SERVER_VARIABLE
from rukpak_py.formats.helm.cluster_view import ClusterView, LookedUp, Lookup, ServedKind, ServedVersion
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.render import HelmRendering, render_chart
from rukpak_py.formats.helm.request import ChartCluster, HelmRequest
from tests.unit.charts import Files, chart, config_map, hook

CORE = ServedVersion(
    group="",
    version="v1",
    kinds=(
        ServedKind(kind="Secret", plural="secrets", namespaced=True),
        ServedKind(kind="Namespace", plural="namespaces", namespaced=False),
    ),
    other_kinds=("Eviction",),
)
POLICY = ServedVersion(
    group="policy",
    version="v1",
    kinds=(ServedKind(kind="PodDisruptionBudget", plural="poddisruptionbudgets", namespaced=True),),
)
STALE = ServedVersion(group="broken.example.com", version="v1", kinds=(), is_stale=True)
VERSION = b'{"major":"1","minor":"35","gitVersion":"v1.35.4"}'
VIEW = ClusterView(version=VERSION, served=(CORE, POLICY, STALE))
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": {"password": "c3RheXM="}}
DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wheels.cars.example.com}
spec:
  group: cars.example.com
  scope: Namespaced
  names: {kind: Wheel, plural: wheels}
  versions: [{name: v1, served: true}, {name: v2, served: false}]
"""


class Cluster:
    def __init__(self, objects: Mapping[Lookup, dict[str, Any]] | None = None) -> None:
        self.objects = objects or {}
        self.asked = list[Lookup]()
        self.refusal: HTTPStatus | None = None

    def look_up(self, lookup: Lookup) -> LookedUp:
        self.asked.append(lookup)
        if self.refusal is not None:
            return LookedUp(self.refusal, status_body(self.refusal, "Forbidden", "may not be read"))
        found = self.objects.get(lookup)
        if found is None:
            return LookedUp(HTTPStatus.NOT_FOUND, status_body(HTTPStatus.NOT_FOUND, "NotFound", "no such object"))
        return LookedUp(HTTPStatus.OK, json.dumps(found).encode())


def render(helm: HelmProgram, files: Files, cluster: Cluster, *, is_upgrade: bool = False) -> HelmRendering:
    request = HelmRequest(
        release_name="web",
        namespace="shop",
        is_upgrade=is_upgrade,
        cluster=ChartCluster(view=VIEW, look_up=cluster.look_up),
    )
    return render_chart(chart(files), request, helm)


def value_of(rendering: HelmRendering, position: int = 0) -> str:
    value: str = rendering.objects[position].manifest()["data"]["value"]
    return value


def shown(helm: HelmProgram, expression: str, cluster: Cluster | None = None) -> str:
    return value_of(render(helm, {"templates/a.yaml": config_map("a", expression)}, cluster or Cluster()))


@pytest.fixture(params=["own network", "shared network"], autouse=True)
def network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restricted pod gives no network of its own to a process: the launcher is told to ask for none."""
    if request.param == "shared network":
        monkeypatch.setattr(process, "_HAS_NETWORK", True)


def test_an_object_is_looked_up_once_for_each_call_and_comes_whole(helm: HelmProgram) -> None:
    cluster = Cluster({Lookup("", "v1", "secrets", "shop", "login"): SECRET})
    assert shown(helm, '(lookup "v1" "Secret" "shop" "login").data.password', cluster) == "c3RheXM="
    assert cluster.asked == [Lookup("", "v1", "secrets", "shop", "login")]


def test_lookup_of_an_absent_object_is_empty(helm: HelmProgram) -> None:
    assert shown(helm, '(lookup "v1" "Secret" "shop" "login")') == "map[]"


def test_a_list_and_an_object_of_the_cluster(helm: HelmProgram) -> None:
    names = {"apiVersion": "v1", "kind": "SecretList", "metadata": {}, "items": [SECRET]}
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    cluster = Cluster(
        {
            Lookup("", "v1", "secrets", "shop", ""): names,
            Lookup("", "v1", "secrets", "", ""): names | {"items": []},
            Lookup("", "v1", "namespaces", "", "shop"): shop,
        }
    )
    expression = (
        '(printf "%d %d %s" (len (lookup "v1" "Secret" "shop" "").items) (len (lookup "v1" "Secret" "" "").items)'
        ' (lookup "v1" "Namespace" "" "shop").metadata.name)'
    )
    assert shown(helm, expression, cluster) == "1 0 shop"


@pytest.mark.parametrize(
    "expression",
    [
        '(lookup "v1" "Nosuch" "shop" "a")',  # a kind that its group version lacks
        '(lookup "v1" "Secret" "" "login")',  # a namespaced kind without a namespace
        '(lookup "v1" "Secret" "Shop" "login")',
        '(lookup "v1" "Secret" "shop" "a b")',
    ],
)
def test_lookup_of_an_impossible_name_is_empty_and_sends_no_request(helm: HelmProgram, expression: str) -> None:
    cluster = Cluster()
    assert shown(helm, expression, cluster) == "map[]"
    assert cluster.asked == []


@pytest.mark.parametrize("version", ["nosuch.example.com/v1", "broken.example.com/v1"])
def test_a_group_version_that_is_not_served_ends_the_rendering(helm: HelmProgram, version: str) -> None:
    with pytest.raises(ContentError, match=r"error calling lookup"):
        shown(helm, f'(lookup "{version}" "Thing" "shop" "a")')


@pytest.mark.parametrize("status", [HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE])
def test_lookup_without_an_answer_ends_the_rendering(helm: HelmProgram, status: HTTPStatus) -> None:
    cluster = Cluster()
    cluster.refusal = status
    with pytest.raises(ContentError, match="error calling lookup"):
        shown(helm, '(lookup "v1" "Secret" "shop" "login")', cluster)


@pytest.mark.parametrize(
    ("version", "is_there"),
    [
        ("v1", "true"),
        ("v1/Secret", "true"),
        ("v1/Eviction", "true"),
        ("policy/v1", "true"),
        ("policy/v1/PodDisruptionBudget", "true"),
        ("policy/v1beta1", "false"),
        ("extensions/v1beta1", "false"),
        ("policy/v1/Eviction", "false"),
    ],
)
def test_capabilities_are_what_the_cluster_serves(helm: HelmProgram, version: str, is_there: str) -> None:
    assert shown(helm, f'(.Capabilities.APIVersions.Has "{version}")') == is_there


def test_the_version_is_that_of_the_cluster(helm: HelmProgram) -> None:
    assert shown(helm, ".Capabilities.KubeVersion.Version") == "v1.35.4"


def test_kinds_of_the_charts_own_definitions_are_there_without_objects(helm: HelmProgram) -> None:
    files = {
        "crds/wheels.yaml": DEFINITION,
        "templates/a.yaml": config_map("a", '(.Capabilities.APIVersions.Has "cars.example.com/v1/Wheel")'),
        "templates/b.yaml": config_map("b", '(.Capabilities.APIVersions.Has "cars.example.com/v2")'),
        "templates/c.yaml": config_map("c", '(lookup "cars.example.com/v1" "Wheel" "shop" "front")'),
        "templates/d.yaml": config_map("d", '(len (lookup "cars.example.com/v1" "Wheel" "shop" "").items)'),
    }
    cluster = Cluster()
    rendering = render(helm, files, cluster)
    assert [value_of(rendering, at) for at in range(4)] == ["true", "false", "map[]", "0"]
    assert [one.head.name for one in rendering.crds] == ["wheels.cars.example.com"]
    assert cluster.asked == []


def test_objects_hooks_and_kinds_that_are_not_served_come_out_as_without_a_cluster(helm: HelmProgram) -> None:
    files: Files = {
        "crds/wheels.yaml": DEFINITION,
        "templates/a.yaml": config_map("a", ".Release.IsUpgrade"),
        "templates/b.yaml": hook("b", "pre-install"),
        "templates/c.yaml": "apiVersion: nosuch.example.com/v1\nkind: Thing\nmetadata: {name: c}\n",
        "templates/d.yaml": hook("d", "test"),
    }
    with_cluster = render(helm, files, Cluster(), is_upgrade=True)
    request = HelmRequest(release_name="web", namespace="shop", is_upgrade=True)
    assert with_cluster == render_chart(chart(files), request, helm)


def test_a_chart_that_renders_nothing(helm: HelmProgram) -> None:
    assert render(helm, {"templates/a.yaml": "{{- if false }}a: b{{ end }}"}, Cluster()).objects == ()


def test_much_output_passes(helm: HelmProgram) -> None:
    template = "{{ range until 3000 }}\n---\n" + config_map('"item-{{ . }}"', '(repeat 1000 "x")') + "{{ end }}"
    assert len(render(helm, {"templates/a.yaml": template}, Cluster()).objects) == 3000


def test_only_the_path_that_helm_was_told_counts_in_a_shared_network(
    helm: HelmProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neighbour in the operator's pod can reach the port."""
    monkeypatch.setattr(process, "_HAS_NETWORK", True)
    seen = list[int]()

    class Watched(Cluster):
        def look_up(self, lookup: Lookup) -> LookedUp:
            (url,) = _urls_of_children()
            base = url.rpartition("/")[0]
            paths = ("/version", "/api/v1/namespaces/shop/secrets/login", f"/{'0' * 64}/version")
            seen.extend(_status_of(base + path) for path in paths)
            return super().look_up(lookup)

    shown(helm, '(lookup "v1" "Secret" "shop" "login")', Watched())
    assert seen == [403, 403, 403]


def _urls_of_children() -> set[str]:
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    variables = list[bytes]()
    for pid in [pid for file in children for pid in file.read_text(encoding="utf-8").split()]:
        with suppress(ProcessLookupError):  # a zombie, which a test before this one has left
            variables += Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {one.decode().partition("=")[2] for one in variables if one.startswith(API_SERVER_VARIABLE.encode())}


def _status_of(url: str) -> int:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=10)) as connection:
        connection.request("GET", parts.path)
        return connection.getresponse().status
