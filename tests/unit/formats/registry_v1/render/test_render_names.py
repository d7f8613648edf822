"""Names of generated objects, byte for byte upstream's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.gojson import deep_hash
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import CsvPermission
from rukpak_py.formats.registry_v1.made_names import join
from rukpak_py.formats.registry_v1.render.certificates import Serving
from rukpak_py.formats.registry_v1.render.rbac import permission_hash

LONG = "my.object.thing.has.a.really.really.really.really.really.long.name"
GET_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
READ_NAMESPACES = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
ODD = {"verbs": ["*"], "apiGroups": ["é"], "resources": ["x"], "resourceNames": ["n"]}


@pytest.mark.parametrize(
    ("value", "hashed"),
    [
        ("a", "1lu1qv1451mq7gv9upu1cx8ffffi07rel5xvbvvc44dh"),
        (None, "2im0kl1kwvzn46sr4cdtkvmdzrlurvj51xdzhwdht8l0"),
        ({}, "16jfjhihxbzhfhs1k5mimq740kvioi98pfbea9q6qtf9"),
    ],
)
def test_a_value_is_hashed_as_go_writes_it(value: object, hashed: str) -> None:
    assert deep_hash(value) == hashed


@pytest.mark.parametrize(
    ("account", "rules", "hashed"),
    [
        ("my-operator", [GET_PODS], "2hbsetkf1ckzzbw36htk41u0lra9erliqg8l43kl1g5a"),
        ("my-operator", [GET_PODS, READ_NAMESPACES], "1sej0zmhufphtfjzu9t8a5hore7z1escs85brwotukey"),
        (
            "",
            [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
            "1w0nxhf3ku8aavcvr46u43p72jecq62vm78we9qvg7uu",
        ),
        ("my-operator", [], "2864j9682i74aqhx6y0zng9i4o7mwx7j0m3z9etaetcc"),
        ("my-operator", None, "2z9ezeekpg5nzgssv3ofvlu8mtcgebocgmitb6fyhkg3"),
        ("a<b>&c", [ODD], "23v21hx2uuz3bj308nxqtbg001ybv01xdg4i76g5r4o1"),
    ],
)
def test_a_permission_is_hashed(account: str, rules: list[Json] | None, hashed: str) -> None:
    assert permission_hash(permission(account, rules)) == hashed


def test_empty_groups_leave_the_hash_and_empty_verbs_do_not() -> None:
    plain = permission_hash(permission("a", [{"verbs": []}]))
    assert permission_hash(permission("a", [{"verbs": [], "apiGroups": [], "resourceNames": []}])) == plain
    assert permission_hash(permission("a", [{"verbs": None}])) != plain


def test_name_that_is_too_long_is_cut_in_the_middle() -> None:
    assert join(LONG, "suffix") == "my.object.thing.has.a.really.really.really.really.really-suffix"
    assert len(join(LONG, "suffix")) == 63


def test_lengths_of_exactly_63_are_not_cut() -> None:
    assert join("b" * 60, "abc") == "b" * 60 + "-abc"  # upstream's off-by-one: 64 characters
    assert join("b" * 61, "abc") == "b" * 59 + "-abc"


def test_nothing_is_trimmed_after_the_cut() -> None:
    assert join("argocd-operator.v0.6.0-x", "h" * 43) == "argocd-operator.v0." + "-" + "h" * 43


def test_a_cut_through_a_character_leaves_what_go_writes_for_its_bytes() -> None:
    assert join("b" * 57 + "é" * 9, "abcd") == "b" * 57 + "\ufffd" + "-abcd"


@pytest.mark.parametrize(
    ("deployment", "service", "certificate"),
    [
        ("my.deployment.thing", "my-deployment-thing-service", "my-deployment-thing-service-cert"),
        (
            LONG,
            "my-object-thing-has-a-really-really-really-really-reall-service",
            "my-object-thing-has-a-really-really-really-really-reall-se-cert",
        ),
    ],
)
def test_services_and_certificates(deployment: str, service: str, certificate: str) -> None:
    assert Serving.of(deployment, "ns") == Serving(service=service, secret=certificate, namespace="ns")


@given(st.text(max_size=90), st.text("abc", min_size=1, max_size=44))
def test_a_name_ends_with_its_suffix_and_is_never_much_too_long(base: str, suffix: str) -> None:
    name = join(base, suffix)
    assert name.endswith(f"-{suffix}")
    assert len(name) <= 64


def permission(account: str, rules: list[Json] | None) -> CsvPermission:
    return CsvPermission(service_account=account, rules=rules, path=())
