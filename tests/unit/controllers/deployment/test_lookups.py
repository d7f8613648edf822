"""Lookups of one rendering: what is answered, and what ends it. What a real API server answers is tested with one."""

from http import HTTPStatus
from typing import Any

import orjson
import pytest

from rukpak_py.controllers.deployment.lookups import LookingUp, LookupPolicy, Lookups
from rukpak_py.controllers.deployment.state_parts import FailedAfterLookupsError
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, LimitError
from rukpak_py.core.masking import MOST_VALUES
from rukpak_py.formats.helm.cluster_view import Lookup
from rukpak_py.formats.helm.request import leaves_of
from rukpak_py.kube.discovery_documents import GroupVersion, serve
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS
from tests.unit.charts import limited
from tests.unit.controllers.fakes import FakeClient

SERVED = serve([GroupVersion(group="", version="v1", resources=(CONFIG_MAPS, SECRETS))])
LOGIN = Lookup("", "v1", "secrets", "shop", "login")
SETTINGS = Lookup("", "v1", "configmaps", "other", "settings")


def lookups(client: FakeClient | None = None, **limits: Any) -> Lookups:
    who = LookingUp(release="web", namespace="shop", uid="u", policy=LookupPolicy(system_namespace="rukpak-system"))
    found: Any = client or FakeClient()
    return Lookups(found, SERVED, who, limits=limited(**limits) if limits else DEFAULT_LIMITS)


async def rendering(of: Lookups, *questions: object, error: ContentError | None = None) -> str:
    for question in questions:
        await of.reply(question)
    if error is not None:
        raise error
    return "made"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (Lookup("", "v1", "secrets", "other", "login"), AccessError),
        (Lookup("", "v1", "secrets", "", ""), AccessError),
        (Lookup("", "v1", "widgets", "shop", "a"), UnavailableError),
        (Lookup("", "v1", "secrets", "shop", "../../x"), UnavailableError),
        (("", "v1", "secrets", "shop", 1), UnavailableError),
        ("secrets", UnavailableError),
    ],
)
async def test_a_question_that_cannot_be_answered_ends_the_rendering_with_its_cause(
    question: object, expected: type[RukPakError]
) -> None:
    of = lookups()
    answer = await of.reply(question)
    assert answer.status in {HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE}
    with pytest.raises(expected, match=r"look|asked"):
        await of.during(rendering(of))
    with pytest.raises(expected):
        await of.during(rendering(of, error=ContentError("helm says something else")))


async def test_nothing_is_answered_after_a_failure() -> None:
    client = FakeClient()
    of = lookups(client)
    await of.reply(Lookup("", "v1", "secrets", "other", "login"))
    assert (await of.reply(SETTINGS)).status == HTTPStatus.FORBIDDEN


async def test_an_object_that_does_not_exist_is_not_found_and_ends_nothing() -> None:
    of = lookups()
    assert (await of.reply(LOGIN)).status == HTTPStatus.NOT_FOUND
    assert await of.during(rendering(of)) == "made"


async def test_an_object_comes_as_the_server_has_it() -> None:
    client = FakeClient()
    client.put("ConfigMap", {"metadata": {"namespace": "other", "name": "settings"}, "data": {"a": "b"}})
    answer = await lookups(client).reply(SETTINGS)
    assert answer.status == HTTPStatus.OK
    assert orjson.loads(answer.body)["data"] == {"a": "b"}


async def test_a_chart_that_fails_after_lookups_may_render_another_time() -> None:
    of = lookups()
    wrong = ContentError("no password")
    wrong.brief = "brief"
    with pytest.raises(FailedAfterLookupsError, match="no password") as caught:
        await of.during(rendering(of, LOGIN, error=wrong))
    assert caught.value.brief == "brief"
    with pytest.raises(ContentError) as plain:
        await lookups().during(rendering(lookups(), error=wrong))
    assert not isinstance(plain.value, FailedAfterLookupsError)


async def test_lookups_are_bounded_in_number_and_size() -> None:
    many = lookups(chart_lookups=2)
    with pytest.raises(LimitError, match="RUKPAK_LIMIT_CHART_LOOKUPS"):
        await many.during(rendering(many, LOGIN, LOGIN, LOGIN))
    client = FakeClient()
    client.put("ConfigMap", {"metadata": {"namespace": "other", "name": "settings"}, "data": {"a": "b" * 5000}})
    large = lookups(client, chart_lookup_bytes=1024)
    with pytest.raises(LimitError, match="RUKPAK_LIMIT_CHART_LOOKUP_BYTES"):
        await large.during(rendering(large, SETTINGS))


async def test_memory_of_looked_up_secrets_is_bounded() -> None:
    """A mask needs no more: a chart may look up megabytes."""
    client = FakeClient()
    data = {"a": "d" * 100_000} | {f"k{number}": "c" * 8 for number in range(MOST_VALUES + 10)}
    client.put("Secret", {"metadata": {"namespace": "shop", "name": "login"}, "data": data})
    of = lookups(client)
    for _ in range(2):
        assert (await of.reply(LOGIN)).status == HTTPStatus.OK
    remembered = [str(value) for one in of.secrets for value in leaves_of(one.document)]
    assert len(remembered) == MOST_VALUES
    assert max(map(len, remembered)) == 4096


async def test_question_that_ended_a_rendering_is_remembered_with_its_answer_by_rights() -> None:
    client = FakeClient()
    client.failing["get"] = ForbiddenError(ErrorAnswer(subject="Secret shop/login", status=403, message="refused"))
    of = lookups(client)
    await of.reply(Lookup("", "v1", "secrets", "other", "hidden"))
    assert of.asked == set()
    of = lookups(client)
    await of.reply(LOGIN)
    await of.reply(SETTINGS)
    assert of.asked == {LOGIN}
    assert isinstance(of.failure, AccessError)
