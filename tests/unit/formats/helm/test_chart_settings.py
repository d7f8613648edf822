"""`spec.config` beside the values: what it may say, and the sentence about what it may not."""

from typing import Any

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import Release, RenderOptions
from rukpak_py.formats.helm.format import HelmFormat
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.settings import ChartSettings, CrdsMode, settings_of
from rukpak_py.formats.stored_rendering import lines_of, read_lines
from tests.unit.charts import chart, config_map, crd, rendered

LONG = "a" * 53
SECRET_KEY = "must be SECRET/KEY, or NAMESPACE/SECRET/KEY for one outside of the release namespace"
LETTERS = "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ChartSettings()),
        ({"crds": None, "releaseName": None, "values": "a: 1"}, ChartSettings()),
        ({"crds": "CreateReplace"}, ChartSettings()),
        ({"crds": "Create", "releaseName": "web"}, ChartSettings(crds=CrdsMode.CREATE, release_name="web")),
        ({"crds": "Skip", "releaseName": LONG}, ChartSettings(crds=CrdsMode.SKIP, release_name=LONG)),
        ({"releaseName": "web-1.prod"}, ChartSettings(release_name="web-1.prod")),
        ({"acceptNewSecrets": None}, ChartSettings()),
        (
            {"acceptNewSecrets": ["web.db/Pass_word.1", "other/web/k", "web.db/Pass_word.1"]},
            ChartSettings(accept_new_secrets=frozenset({"web.db/Pass_word.1", "other/web/k"})),
        ),
    ],
)
def test_settings(config: dict[str, Any], expected: ChartSettings) -> None:
    assert settings_of(config) == expected


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"crds": "create"}, "spec.config.crds must be one of Create, CreateReplace, Skip, got 'create'"),
        ({"crds": True}, "spec.config.crds must be one of Create, CreateReplace, Skip, got a boolean"),
        (
            {"acceptNewSecrets": "web/k"},
            "spec.config.acceptNewSecrets must be a list of SECRET/KEY, got 'web/k'",
        ),
        *(
            ({"acceptNewSecrets": ["web/k", wrong]}, f"spec.config.acceptNewSecrets[1] {SECRET_KEY}, got {shown}")
            for wrong, shown in (("web", "'web'"), ("a/b/c/d", "'a/b/c/d'"), ("/k", "'/k'"), (5, "a number"))
        ),
        ({"releaseName": ""}, "spec.config.releaseName must be a release name, got ''"),
        ({"releaseName": ["a"]}, "spec.config.releaseName must be a release name, got a list"),
        (
            {"releaseName": LONG + "a"},
            f"spec.config.releaseName '{LONG}a' is not a valid release name: it has 54 bytes; helm allows 53",
        ),
        (
            {"releaseName": "--debug"},
            f"spec.config.releaseName '--debug' is not a valid release name: it must consist of {LETTERS}",
        ),
    ],
)
def test_invalid_settings_are_refused_by_name(config: dict[str, Any], text: str) -> None:
    with pytest.raises(ContentError) as caught:
        settings_of(config)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", ["a\n", "a..b", "a.-b", "A", "a_b", "-", "a-"])
def test_names_that_helm_refuses(helm: HelmProgram, name: str) -> None:
    with pytest.raises(ContentError, match=r"^spec\.config\.releaseName "):
        settings_of({"releaseName": name})
    with pytest.raises(ContentError, match="release name"):
        rendered(helm, chart(), release_name=name)


def test_a_deployment_with_a_long_name_needs_a_release_name() -> None:
    assert ChartSettings().release_for(LONG) == LONG
    assert ChartSettings(release_name="web").release_for(LONG + "a") == "web"
    with pytest.raises(ContentError) as caught:
        ChartSettings().release_for(LONG + "a")
    assert str(caught.value) == (
        "the name of the BundleDeployment cannot be the name of the release, because it has 54 bytes; helm allows 53; "
        "set spec.config.releaseName"
    )


def test_templates_see_the_release_name(helm: HelmProgram) -> None:
    tree = chart({"templates/a.yaml": config_map("a", ".Release.Name")})
    for config, seen in (({"releaseName": "other"}, "other"), ({}, "web")):
        options = RenderOptions(release=Release(name="web"), config=config, helm=helm.path)
        (made,) = HelmFormat().render(tree, options).objects
        assert made.manifest()["data"]["value"] == seen


@pytest.mark.parametrize("config", [{"releaseName": "other", "crds": "Skip"}, {"releaseName": "No Name", "crds": "x"}])
def test_chart_rendered_without_settings_is_rendered_without_them_again(
    helm: HelmProgram, config: dict[str, Any]
) -> None:
    """A former release of the operator ignored these keys, whatever they said."""
    tree = chart({"crds/a.yaml": crd("crd"), "templates/a.yaml": config_map("a", ".Release.Name")})
    release = Release(name="web", has_settings=False)
    made = HelmFormat().render(tree, RenderOptions(release=release, config=config, helm=helm.path))
    assert made == HelmFormat().render(tree, RenderOptions(release=Release(name="web"), helm=helm.path))


def test_skipped_crds_are_not_rendered(helm: HelmProgram) -> None:
    tree = chart({"crds/a.yaml": crd("crd"), "templates/a.yaml": config_map("a")})
    for config, names in (({"crds": "Skip"}, ["a"]), ({"crds": "Create"}, ["crd", "a"])):
        options = RenderOptions(release=Release(name="web"), config=config, helm=helm.path)
        made = HelmFormat().render(tree, options)
        assert [one.head.name for one in made.objects] == names
        assert {one.name for one in made.lasting} == set(names) - {"a"}


def test_crds_that_are_only_created_are_stored_as_such(helm: HelmProgram) -> None:
    """A rendering in the default way has the digest that it had before there were other ways."""
    kept = config_map("kept", **{"helm.sh/resource-policy": "keep"})
    tree = chart({"crds/a.yaml": crd("crd"), "templates/a.yaml": kept})
    made = {
        mode: HelmFormat().render(tree, RenderOptions(config={"crds": mode} if mode else {}, helm=helm.path))
        for mode in ("", "CreateReplace", "Create")
    }
    assert made[""] == made["CreateReplace"]
    assert made[""].create_only == frozenset()
    assert {one.name for one in made["Create"].create_only} == {"crd"}
    assert made["Create"].digest != made[""].digest
    for one in made.values():
        assert read_lines(b"".join(lines_of(one))) == one
