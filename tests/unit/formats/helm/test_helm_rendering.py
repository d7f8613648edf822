"""Charts rendered by the real helm: what goes in, what comes out, and what it says when it fails."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import ContentDescription, Release, RenderOptions
from rukpak_py.formats.helm.format import HelmFormat
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.render import HelmRendering
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.formats.hook import HookEvent
from rukpak_py.formats.stored_rendering import lines_of, read_lines
from rukpak_py.sources.local_directory import read_directory
from tests.unit.charts import (
    METADATA,
    NAMESPACE,
    chart,
    config_map,
    crd,
    hook,
    limited,
    metadata,
    packed,
    rendered,
    value_of,
)

ROOT = Path(__file__).resolve().parents[4]
LOUD = {"templates/a.yaml": config_map("a", ".Values"), "values.yaml": "a: {b: 1, c: 2}\nlist: [1, 2]\n"}


def names(rendering: HelmRendering) -> tuple[list[str], list[str], list[str]]:
    return (
        [made.head.name for made in rendering.crds],
        [made.head.name for made in rendering.objects],
        [made.object.head.name for made in rendering.hooks],
    )


def documents(*texts: str) -> tuple[ValuesDocument, ...]:
    return tuple(ValuesDocument(document=text) for text in texts)


def test_values_in_order_and_settings_on_top(helm: HelmProgram) -> None:
    values = documents("a: {b: 2, d: 3}\nlist: [9]", "a: {b: 5, c: null}")
    found = rendered(helm, chart(LOUD), values=values, settings=("a.d=x,e=f",))
    assert value_of(found, "a") == "map[a:map[b:5 d:x] e:f list:[9]]"


def test_templates_know_the_release(helm: HelmProgram) -> None:
    text = "(list .Release.Name .Release.Namespace .Release.IsUpgrade .Release.IsInstall .Release.Revision)"
    tree = chart({"templates/a.yaml": config_map("a", text)})
    assert value_of(rendered(helm, tree, release_name="my-release"), "a") == f"[my-release {NAMESPACE} false true 1]"
    upgrade = rendered(helm, tree, release_name="my-release", is_upgrade=True)
    assert value_of(upgrade, "a") == f"[my-release {NAMESPACE} true false 1]"


def test_capabilities_are_those_of_the_request(helm: HelmProgram) -> None:
    text = '(list .Capabilities.KubeVersion.Version (.Capabilities.APIVersions.Has "shop.io/v1/Till"))'
    tree = chart({"templates/a.yaml": config_map("a", text)})
    found = rendered(helm, tree, kube_version="v1.30.2", api_versions=("shop.io/v1", "shop.io/v1/Till"))
    assert value_of(found, "a") == "[v1.30.2 true]"
    assert value_of(rendered(helm, tree), "a").endswith(" false]")


def test_no_cluster_and_no_name_is_looked_up(helm: HelmProgram) -> None:
    text = '(list (lookup "v1" "Namespace" "" "") (getHostByName "localhost"))'
    assert value_of(rendered(helm, chart({"templates/a.yaml": config_map("a", text)})), "a") == "[map[] ]"


def test_random_functions_differ_from_run_to_run(helm: HelmProgram) -> None:
    tree = chart({"templates/a.yaml": config_map("a", "(randAlphaNum 20)")})
    assert value_of(rendered(helm, tree), "a") != value_of(rendered(helm, tree), "a")


def test_files_of_the_chart_are_there(helm: HelmProgram) -> None:
    files = {
        "templates/a.yaml": config_map("a", '(.Files.Get "extra/x.txt")'),
        "extra/x.txt": "here",
    }
    for root in ("", "any"):
        assert value_of(rendered(helm, chart(files, root=root)), "a") == "here"


def test_crds_objects_and_hooks_are_kept_apart(helm: HelmProgram) -> None:
    tree = chart(
        {
            "crds/a.yaml": "# Source: x\n---\n# Source: web/templates/x.yaml\n" + crd("crd", "{{ no template }}"),
            "crds/README.md": "no manifest",
            "templates/objects.yaml": f"---\n# only a comment\n---\n{config_map('a')}---\n{config_map('b')}",
            "templates/hooks.yaml": "---\n".join(
                [
                    hook("late", "post-install, pre-upgrade", weight="5", delete_policy="hook-succeeded"),
                    hook("early", "post-install", weight="-5"),
                    hook("test", "test"),
                    hook("old-test", "test-success"),
                    hook("unknown", "crd-install"),
                ]
            ),
            "templates/NOTES.txt": "Thank you",
            "templates/_helpers.tpl": '{{ define "x" }}x{{ end }}',
        }
    )
    found = rendered(helm, tree)
    assert names(found) == (["crd"], ["a", "b"], ["early", "late"])
    assert found.hooks[1].events == {HookEvent.POST_INSTALL, HookEvent.PRE_UPGRADE}
    assert (found.test_hooks, found.unknown_hooks) == (2, ("crd-install",))


def test_subcharts_come_with_their_crds_when_they_are_enabled(helm: HelmProgram) -> None:
    sub = {
        "Chart.yaml": metadata("db"),
        "crds/x.yaml": crd("crd-of-db"),
        "templates/a.yaml": config_map("of-db"),
    }
    files: dict[str, str | bytes | None] = {
        "Chart.yaml": METADATA + "dependencies: [{name: db, version: 1.0.0, condition: db.enabled}]\n",
        "templates/a.yaml": config_map("a"),
        "crds/x.yaml": crd("crd"),
        "charts/db-1.0.0.tgz": packed(sub),
    }
    assert names(rendered(helm, chart(files))) == (["crd", "crd-of-db"], ["of-db", "a"], [])
    without = rendered(helm, chart(files), values=documents("db: {enabled: false}"))
    assert names(without) == (["crd"], ["a"], [])


def test_a_definition_that_two_charts_bring_is_taken_once(helm: HelmProgram) -> None:
    tree = chart(
        {
            "crds/x.yaml": crd("crd", "ours"),
            "charts/db/Chart.yaml": metadata("db"),
            "charts/db/crds/x.yaml": crd("crd", "theirs"),
        }
    )
    (found,) = rendered(helm, tree).crds
    assert b"ours" in found.json


def test_lists_are_their_items(helm: HelmProgram) -> None:
    items = "kind: ConfigMapList\napiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n"
    assert names(rendered(helm, chart({"templates/a.yaml": items}))) == ([], ["a", "b"], [])


def test_the_chart_of_this_repository(helm: HelmProgram) -> None:
    found = rendered(helm, read_directory(ROOT / "charts/rukpak"), release_name="rukpak")
    kinds = {made.head.gvk.kind for made in found.objects}
    assert {"CustomResourceDefinition", "ClusterRole", "Deployment", "Service"} <= kinds


def test_a_rendering_travels_between_processes(helm: HelmProgram) -> None:
    files = {"templates/a.yaml": config_map("a"), "templates/h.yaml": hook("h", "pre-install"), "crds/a.yaml": crd("c")}
    found = rendered(helm, chart(files))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own


def test_a_thousand_objects(helm: HelmProgram) -> None:
    template = "{{ range until 1200 }}\n---\n" + config_map('"item-{{ . }}"', "(. | toString)") + "{{ end }}"
    found = rendered(helm, chart({"templates/a.yaml": template}))
    assert len(found.objects) == 1200
    assert value_of(found, "item-1199") == "1199"


def test_an_object_that_two_templates_have_is_refused(helm: HelmProgram) -> None:
    spelt_out = config_map("a").replace("{name: a,", f"{{name: a, namespace: {NAMESPACE},")
    tree = chart({"templates/a.yaml": config_map("a"), "templates/b.yaml": spelt_out})
    with pytest.raises(ContentError, match=r"^web/templates/b.yaml: ConfigMap shop/a is .* from web/templates/a.yaml:"):
        rendered(helm, tree)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("kind: ConfigMap\nmetadata: {name: a}\n", "^web/templates/a.yaml: ConfigMap a has no apiVersion$"),
        (
            "apiVersion: v1\nkind: ConfigMap\n",
            "^web/templates/a.yaml: an object of kind ConfigMap has no metadata.name",
        ),
        ("apiVersion: v1\nmetadata: {name: a}\n", "^web/templates/a.yaml: Object 'Kind' is missing in "),
        ("a: b: c\n", "^YAML parse error on web/templates/a.yaml: error converting YAML to JSON: .* in this context$"),
        ('a: {{ fail "no thanks" }}\n', r"^web/templates/a.yaml:1: no thanks$"),
        ("a: {{ .Values.x.y }}\n", "^web/templates/a.yaml:1: at <.Values.x.y>: nil pointer evaluating .*"),
        ("a: {{ nope }}\n", r'^web/templates/a.yaml:1: parse error: function "nope" not defined$'),
        ('{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}', "nested reference name: x"),
        ('apiVersion: v1\nkind: A\nmetadata: {name: {{ repeat 4000000 "x" }}}', "exceeds the limit of 3 MiB"),
    ],
)
def test_the_message_names_the_template_and_no_place_of_ours(helm: HelmProgram, template: str, text: str) -> None:
    with pytest.raises(ContentError, match=text) as caught:
        rendered(helm, chart({"templates/a.yaml": template}))
    said = str(caught.value)
    assert not any(leaked in said for leaked in ("/proc", "/tmp", "/nonexistent", "--debug", "Error: "))
    assert len(said) < 5_000


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"settings": ("a",)}, '^failed parsing --set data: key "a" has no value$'),
        ({"kube_version": "new"}, "^invalid kube version 'new'"),
        ({"release_name": "--debug"}, '^release name "--debug": invalid release name'),
        ({"values": documents("- a")}, "^read chart values: "),
    ],
)
def test_a_wrong_request_is_told(helm: HelmProgram, request_: dict[str, Any], text: str) -> None:
    with pytest.raises(ContentError, match=text):
        rendered(helm, chart(), **request_)


def test_values_are_checked_by_the_schema_and_secret_ones_not_shown(helm: HelmProgram) -> None:
    schema = (
        '{"properties": {"password": {"pattern": "^[a-z]+$"}}, "$schema": "http://json-schema.org/draft-07/schema#"}'
    )
    secret = (ValuesDocument(document="password: Hunter22", is_secret=True),)
    with pytest.raises(ContentError, match="at '/password': '\\*\\*\\*' does not match pattern") as caught:
        rendered(helm, chart({"values.schema.json": schema}), values=secret)
    assert "Hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    "place", ["https://example.com/x.json", "file:///etc/passwd", "other.json", "http://127.0.0.1:1/"]
)
def test_a_schema_that_is_elsewhere_is_neither_fetched_nor_demanded(helm: HelmProgram, place: str) -> None:
    files = {"templates/a.yaml": config_map("a"), "values.schema.json": f'{{"allOf": [{{"$ref": "{place}#/a"}}]}}'}
    found = rendered(helm, chart(files))
    assert found.unchecked == (place,)
    assert names(found)[1] == ["a"]


def test_a_schema_may_refer_to_itself(helm: HelmProgram) -> None:
    schema = (
        '{"$id": "https://shop.example/web.json", "properties": {"a": {"$ref": "#/$defs/a"}},'
        ' "$defs": {"a": {"$id": "https://shop.example/a.json", "type": "string"}}}'
    )
    assert rendered(helm, chart({"values.schema.json": schema})).unchecked == ()
    with pytest.raises(ContentError, match="got number, want string"):
        rendered(helm, chart({"values.schema.json": schema}), values=documents("a: 1"))


def test_the_number_of_objects_is_bounded(helm: HelmProgram) -> None:
    tree = chart({"templates/a.yaml": f"{config_map('a')}---\n{config_map('b')}"})
    with pytest.raises(ContentError, match=r"^web/templates/a.yaml: the number of objects .*RENDERED_OBJECTS"):
        rendered(helm, tree, limited(rendered_objects=1))


def test_as_a_format_it_renders_what_is_applied(helm: HelmProgram) -> None:
    template = """(printf "%s %s %v %s %v %s" .Release.Namespace .Release.Name .Release.IsUpgrade
        .Capabilities.KubeVersion.Version (.Capabilities.APIVersions.Has "a/v1") .Values.x)"""
    files = {
        "crds/a.yaml": crd("crd"),
        "templates/a.yaml": config_map("a", template),
        "templates/h.yaml": hook("h", "test"),
        "templates/k.yaml": config_map("kept", **{"helm.sh/resource-policy": "keep"}),
    }
    release = Release(name="web", is_upgrade=True, kube_version="v1.31.2", api_versions=("a/v1",))
    options = RenderOptions(install_namespace="till", release=release, config={"values": "x: z"}, helm=helm.path)
    made = HelmFormat().render(chart(files), options)
    assert [one.head.name for one in made.objects] == ["crd", "a", "kept"]
    assert made.objects[1].manifest()["data"] == {"value": "till web true v1.31.2 true z"}
    assert sorted(key.name for key in made.lasting) == ["crd", "kept"]
    assert made == HelmFormat().render(chart(files), options)
    assert made.description == ContentDescription(name="web", version="1.0.0")
    assert read_lines(b"".join(lines_of(made))) == made


def test_hooks_come_beside_the_objects_with_what_they_may_need(helm: HelmProgram) -> None:
    files = {
        "crds/crd.yaml": crd("crd"),
        "templates/a.yaml": hook("migrate", "pre-upgrade,pre-install", weight="2", delete_policy="hook-failed"),
        "templates/b.yaml": hook("clean", "post-delete, test"),
        "templates/c.yaml": config_map("kept", **{"helm.sh/resource-policy": "keep"}),
    }
    made = HelmFormat(helm=helm.path).render(chart(files), RenderOptions())
    assert [(one.object.head.name, one.weight, sorted(one.events)) for one in made.hooks] == [
        ("clean", 0, ["post-delete"]),
        ("migrate", 2, ["pre-install", "pre-upgrade"]),
    ]
    assert [one.head.name for one in made.objects] == ["crd", "kept"]
    assert [key.name for key in made.before_hooks] == ["crd"]
    assert read_lines(b"".join(lines_of(made))) == made


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a", "a"], "two pre-install hooks are ConfigMap a: give one of them another name, or remove it"),
        ([f"a{number}" for number in range(101)], "the chart has 101 hooks; no more than 100 can be run"),
    ],
)
def test_indistinguishable_or_too_many_hooks_are_refused(helm: HelmProgram, names: list[str], text: str) -> None:
    files = {"templates/a.yaml": "---\n".join(hook(name, "pre-install") for name in names)}
    with pytest.raises(ContentError) as caught:
        HelmFormat(helm=helm.path).render(chart(files), RenderOptions())
    assert str(caught.value) == text


def test_random_chart_has_another_digest_each_time(helm: HelmProgram) -> None:
    tree = chart({"templates/a.yaml": config_map("a", "(randAlphaNum 20)")})
    one, other = (HelmFormat(helm=helm.path).render(tree, RenderOptions()) for _ in range(2))
    assert one.digest.startswith("sha256:")
    assert one.digest != other.digest
