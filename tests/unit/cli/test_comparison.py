"""Two renderings: what was added, removed, renamed and changed, and who gained or lost which permissions."""

import json
from typing import Any

import pytest

from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.cli.reports import comparison as report
from rukpak_py.cli.terminal import Style
from rukpak_py.library.diffs.comparison import compare
from rukpak_py.library.diffs.documents import document
from rukpak_py.library.diffs.moved_namespace import NamespaceMove
from tests.manifests import crd, strings
from tests.unit.cli.objects import binding, manifest, role, rule
from tests.unit.cli.streams import pipe


def printed(old: list[Any], new: list[Any], *, width: int | None = None) -> str:
    with pytest.MonkeyPatch.context() as patched:
        if width is None:
            patched.delenv("COLUMNS", raising=False)
        else:
            patched.setenv("COLUMNS", str(width))
        return "\n".join(report.lines_of(compare(old, new), Style(pipe())))


def test_the_same_is_no_difference() -> None:
    objects = [manifest("ConfigMap", "a"), role("r", rule("get")), binding("b", "r")]
    assert compare(objects, list(reversed(objects))).is_empty
    assert printed(objects, objects) == "no differences"


def test_the_version_of_a_kind_is_not_its_identity() -> None:
    old, new = (manifest("PodDisruptionBudget", "a", api_version=f"policy/{v}") for v in ("v1beta1", "v1"))
    (changed,) = compare([old], [new]).changed
    assert [one.path for one in changed.differences] == ["apiVersion"]


def test_roles_with_made_up_names_are_renamed() -> None:
    old = [role("app.v1-abc", rule("get")), binding("app.v1-abc", "app.v1-abc")]
    new = [role("app.v2-def", rule("get")), binding("app.v2-def", "app.v2-def")]
    found = compare(old, new)
    assert [(one.name, other.name) for one, other in found.renamed] == [("app.v1-abc", "app.v2-def")] * 2
    assert (found.added, found.removed, found.permissions) == ([], [], [])


def test_a_role_with_other_rules_is_another_role() -> None:
    old = [role("app.v1-abc", rule("get")), binding("app.v1-abc", "app.v1-abc")]
    new = [role("app.v2-def", rule("get list")), binding("app.v2-def", "app.v2-def")]
    found = compare(old, new)
    assert (len(found.added), len(found.removed), len(found.renamed)) == (2, 2, 0)
    (change,) = found.permissions
    assert (change.gained, change.lost) == ({Permission("", "list", "", "pods")}, set())


def test_verb_that_a_wildcard_covered_is_not_gained() -> None:
    old = [role("r", rule("*", "pods")), binding("b", "r")]
    new = [role("r", rule("get list", "pods")), binding("b", "r")]
    (change,) = compare(old, new).permissions
    assert (change.gained, change.lost) == (set(), {Permission("", "*", "", "pods")})


def test_secrets_are_never_shown() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"stringData": {"a": "hush-1"}}'}
    old = manifest("Secret", "s", data={"a": "aHVzaC0x", "gone": "aHVzaC0y"}, stringData={"b": "hush-3"})
    new = manifest("Secret", "s", data={"a": "aHVzaC00"}, immutable=True)
    new["metadata"]["annotations"] = applied
    found = compare([old], [new])
    text = printed([old], [new]) + json.dumps(document(found))
    assert "hush" not in text
    assert "aHVzaC" not in text
    assert "data.a" in text
    assert "immutable: true" in text


def test_the_text_says_all_of_it() -> None:
    old = [
        manifest("ConfigMap", "gone", namespace="apps"),
        manifest("Deployment", "d", api_version="apps/v1", namespace="apps", spec={"replicas": 1}),
        role("old", rule("get")),
        binding("b", "old"),
    ]
    new = [
        manifest("Deployment", "d", api_version="apps/v1", namespace="apps", spec={"replicas": 2, "paused": True}),
        manifest("Service", "fresh", namespace="apps"),
        role("new", rule("get"), rule("get list", "secrets")),
        binding("b", "new"),
    ]
    assert (
        printed(old, new)
        == """\
Permissions gained
  ServiceAccount apps/robot in the whole cluster
    get list  secrets

Objects
  - ConfigMap apps/gone
  - ClusterRole.rbac.authorization.k8s.io/old
  + Service apps/fresh
  + ClusterRole.rbac.authorization.k8s.io/new
  ~ Deployment.apps/apps/d
      ~ spec.replicas: 1 → 2
      + spec.paused: true
  ~ ClusterRoleBinding.rbac.authorization.k8s.io/b
      ~ roleRef.name: "old" → "new"

objects: 2 removed, 2 added, 0 renamed, 2 changed; 2 permissions gained, 0 lost"""
    )


def test_a_document_names_rights_one_by_one() -> None:
    old: list[Any] = []
    new = [role("r", rule("get", "pods", names=["a"])), binding("b", "r", namespace="here", kind="ClusterRole")]
    (change,) = document(compare(old, new))["permissions"]
    assert change == {
        "holder": {"kind": "ServiceAccount", "namespace": "apps", "name": "robot"},
        "gained": [{"namespace": "here", "verb": "get", "group": "", "resource": "pods", "name": "a"}],
        "lost": [],
        "gainedReferences": [],
        "lostReferences": [],
    }


def test_long_texts_are_shown_where_they_begin_to_differ() -> None:
    old, new = (manifest("ConfigMap", "a", data={"text": "x" * 500 + end}) for end in ("one", "two" + "y" * 500))
    _, _, path, before, after, *_ = printed([old], [new], width=200).splitlines()
    assert path == "      ~ data.text:"
    assert before.startswith("          - …xxx")
    assert before.endswith('one"')
    assert "two" in after
    assert after.endswith("yy… (1005 characters)")


def test_values_that_do_not_fit_have_lines_of_their_own() -> None:
    old, new = (manifest("ConfigMap", "a", data={"text": f"{word} " * 8}) for word in ("before", "after"))
    assert printed([old], [new], width=60).splitlines()[2:7] == [
        "      ~ data.text:",
        '          - "before before before before before before',
        '            before before "',
        '          + "after after after after after after after after',
        '            "',
    ]


def test_a_changed_crd_says_what_becomes_of_its_instances() -> None:
    old, new = crd("apps.test", schema=strings("size", "mode")), crd("apps.test", "v2", schema=strings("size"))
    text = printed([old], [new])
    assert (
        text[: text.index("Objects")]
        == """\
CRD upgrade safety
  CustomResourceDefinition.apiextensions.k8s.io/things.apps.test
    cannot remove stored versions [v1]: refused
    v2: spec.mode: the field was removed: refused where objects lose values

"""
    )
    (crd_document,) = document(compare([old], [new]))["crds"]
    assert crd_document["changes"][1] == {
        "version": "v2",
        "path": "spec.mode",
        "rule": "FieldRemoved",
        "verdict": "Loses",
        "needsObjects": True,
        "text": "the field was removed",
    }


def test_a_crd_that_no_instance_suffers_from_is_not_named() -> None:
    old, new = crd("apps.test", schema=strings("size")), crd("apps.test", schema=strings("size", "mode"))
    assert "CRD upgrade safety" not in printed([old], [new])


def test_a_crd_that_cannot_be_compared_is_named() -> None:
    assert "cannot be compared: " in printed([crd("apps.test")], [{**crd("apps.test"), "spec": {"group": 1}}])


def test_moved_objects_only_show_other_changes() -> None:
    move = NamespaceMove(old="here", new="there")
    old = [
        manifest("ConfigMap", "a", namespace="here", data={"where": "here"}),
        manifest("ConfigMap", "b", namespace="elsewhere"),
        manifest("Role", "r", api_version="rbac.authorization.k8s.io/v1", namespace="here"),
    ]
    new = [
        manifest("ConfigMap", "a", namespace="there", data={"where": "there"}),
        manifest("ConfigMap", "b", namespace="elsewhere"),
        manifest("Role", "r", api_version="rbac.authorization.k8s.io/v1", namespace="there"),
    ]
    found = compare(old, new, move=move)
    assert (found.added, found.removed, found.renamed) == ([], [], [])
    assert [one.path for changed in found.changed for one in changed.differences] == ["data.where"]
    assert found.move == NamespaceMove(old="here", new="there", objects=2)
    assert old[0]["metadata"]["namespace"] == "here"


def test_objects_are_not_moved_onto_others() -> None:
    old = [manifest("ConfigMap", "a", namespace=namespace) for namespace in ("here", "there")]
    found = compare(old, old[1:], move=NamespaceMove(old="here", new="there"))
    assert (found.move, [key.namespace for key in found.removed]) == (None, ["here"])
