"""Registries that attack: each fetch ends with a message that is short, holds little meanwhile, and leaves nothing."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests

from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, MIB
from rukpak_py.sources.image import transport
from rukpak_py.sources.image.reference import parse_image
from rukpak_py.sources.image.transport import LONGEST_ANSWER
from rukpak_py.sources.image.unpack_methods import may_help
from tests.hostile.registry import HostileRegistry
from tests.hostile.registry_attacks import FILES, Attack
from tests.steps import steps_of
from tests.unit.sources.image.image_fetches import NOTHING_LEFT, Fetching
from tests.unit.sources.image.image_pulls import pulled
from tests.unit.sources.image.image_registry import REPOSITORY
from tests.unit.web_servers import Answer, serving

pytestmark = pytest.mark.usefixtures("hasty")
LONGEST_MESSAGE = 1_500
MOST_STEPS = 400_000  # lines of Python for one pull
MOST_SENT = 64 * MIB  # of an endless answer: before the reader hangs up, buffers of some sockets have been filled

REFUSED: dict[Attack, tuple[type[RukPakError], str]] = {
    Attack.REDIRECTS: (UnavailableError, "redirects more than 5 times"),
    Attack.REDIRECT_BODY: (UnavailableError, "redirects more than 5 times"),
    Attack.REDIRECT_INVALID: (UnavailableError, "redirects to is not a valid URL"),
    Attack.REDIRECT_LONG: (UnavailableError, "redirects to a URL of more than 8 KiB"),
    Attack.HEADERS: (UnavailableError, "an answer has more than 128 KiB of headers"),
    Attack.COOKIES: (ContentError, "what the registry has is not an image"),
    Attack.UNWELL: (UnavailableError, "answers GET with 503"),
    Attack.CHALLENGE_16K: (UnavailableError, "WWW-Authenticate header has 16007 characters, more than 8 KiB"),
    Attack.CHALLENGE_60K: (UnavailableError, "WWW-Authenticate header has 60007 characters"),
    Attack.CHALLENGE_QUOTES: (UnavailableError, "WWW-Authenticate header has 60007 characters"),
    Attack.CHALLENGE_BACKSLASHES: (UnavailableError, "WWW-Authenticate header has 60007 characters"),
    Attack.CHALLENGE_COMMAS: (UnavailableError, "WWW-Authenticate header has 59507 characters"),
    Attack.TOKEN_HUGE: (RukPakError, "no token for this login"),
    Attack.TOKEN_DEEP: (RukPakError, "no token for this login"),
    Attack.ERRORS_HUGE: (UnavailableError, "characters left out"),
    Attack.ERRORS_DEEP: (UnavailableError, "answers GET with 404: X"),
    Attack.REASON_HUGE: (UnavailableError, "characters left out"),
    Attack.STATUS_HUGE: (UnavailableError, "does not answer"),
    Attack.RETRY_AFTER_HUGE: (UnavailableError, "answers GET with 429"),
    Attack.MANIFEST_ENDLESS: (ContentError, "the size of the image's manifest exceeds"),
    Attack.MANIFEST_ENTRIES: (ContentError, "the number of entries of the image's manifest exceeds|size of the image"),
    Attack.LAYER_ENDLESS: (UnavailableError, "is larger than the .* bytes that were announced"),
    Attack.LAYER_BOMB: (ContentError, "the ratio of unpacked to compressed size exceeds"),
    Attack.LAYER_DAMAGED: (UnavailableError, "is damaged: its content has the digest"),
}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[requests.Response]:
    """The answers of all registries."""
    found: list[requests.Response] = []
    ask = transport.Session.request

    def noted(session: transport.Session, method: str, url: str, **given: Any) -> requests.Response:
        found.append(ask(session, method, url, **given))
        return found[-1]

    monkeypatch.setattr(transport.Session, "request", noted)
    return found


@pytest.mark.parametrize("attack", REFUSED)
async def test_an_attack_ends_with_a_message_and_leaves_nothing(
    attack: Attack, tmp_path: Path, answers: list[requests.Response]
) -> None:
    """No file and no connection, also while the error is remembered."""
    kind, text = REFUSED[attack]
    fetching = Fetching(tmp_path)
    with HostileRegistry(attack) as registry:
        with pytest.raises(kind, match=text) as refused:
            await fetching.fetch(registry.ref)
        assert registry.sent < MOST_SENT
    assert len(str(refused.value)) < LONGEST_MESSAGE
    assert fetching.left == NOTHING_LEFT
    assert [answer for answer in answers if not answer.raw.closed] == []


@pytest.mark.parametrize("attack", [Attack.NONE, Attack.CLOSING])
async def test_a_registry_that_is_only_odd_is_read(attack: Attack, tmp_path: Path) -> None:
    fetching = Fetching(tmp_path)
    with HostileRegistry(attack) as registry:
        assert dict((await fetching.fetch(registry.ref)).tree) == FILES
        assert fetching.arrived == [registry.ref]
    assert fetching.left == NOTHING_LEFT


def test_a_connection_for_each_answer_does_not_keep_a_socket_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may have some hundred open files."""
    most = 0
    watched = transport.Connections._watched

    def count(connections: transport.Connections, *given: object) -> object:
        nonlocal most
        opened = watched(connections, *given)  # type: ignore[arg-type]  # passed through
        most = max(most, len(connections._sockets))
        return opened

    monkeypatch.setattr(transport.Connections, "_watched", count)
    with HostileRegistry(Attack.CLOSING) as registry:
        assert dict(pulled(parse_image(registry.ref))[1]) == FILES
        assert len(registry.asked) > 300
    assert most < 10


@pytest.mark.parametrize("attack", [attack for attack in Attack if attack.name.startswith("CHALLENGE")])
def test_a_hostile_challenge_costs_little(attack: Attack) -> None:
    def pull() -> None:
        with pytest.raises(UnavailableError, match="more than 8 KiB"):
            pulled(parse_image(registry.ref))

    with HostileRegistry(attack) as registry:
        assert steps_of(pull) < MOST_STEPS
        assert len(registry.asked) == 1


async def test_an_error_page_without_an_end_is_not_read(tmp_path: Path) -> None:
    """The page is as long as any answer of a registry may be."""
    page = Answer(404, body=json.dumps({"errors": [{"message": "m" * LONGEST_ANSWER}]}).encode())
    text = "answers GET with 404: Not Found"
    with serving(lambda _: page) as server, pytest.raises(UnavailableError, match=text):
        await Fetching(tmp_path).fetch(f"{server.address}/{REPOSITORY}:v1")


async def test_attacks_are_not_tried_by_a_pod(tmp_path: Path) -> None:
    for attack in (Attack.CHALLENGE_60K, Attack.HEADERS, Attack.LAYER_DAMAGED, Attack.UNWELL):
        with HostileRegistry(attack) as registry, pytest.raises(RukPakError) as refused:
            await Fetching(tmp_path).fetch(registry.ref)
        assert not may_help(refused.value), attack


async def test_the_largest_download_gives_way_to_others(tmp_path: Path) -> None:
    fetching = Fetching(tmp_path, replace(DEFAULT_LIMITS, spool_bytes=100_000))
    small = HostileRegistry(Attack.NONE)
    with small, HostileRegistry(Attack.SLOW_LAYER, interval=0) as large:
        with pytest.raises(UnavailableError, match=r"of content arrive at a time .*most of it here; retrying later"):
            await fetching.fetch(large.ref)
        assert dict((await fetching.fetch(small.ref)).tree) == FILES
    assert fetching.left == NOTHING_LEFT
