"""Ways out: one for each cause, with commands that exist, and a section of the troubleshooting page for each reason."""

import re

import click
import pytest

from rukpak_py.api.names import GROUP, Reason
from rukpak_py.cli import main
from rukpak_py.controllers.result.cause_table import TABLE, Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.documentation import TROUBLESHOOTING
from rukpak_py.diagnosis.ways_out import WAYS_OUT, way_out
from tests.unit.cli.running import ROOT

NEEDED = [cause for cause in Cause if TABLE[cause].kind in {Kind.PAUSE, Kind.FAILURE, Kind.WAIT, Kind.HOLD}]
WEB = ObjectKey("apps", "Deployment", "shop", "web")
COMMANDS = r"`(kubectl|rukpakctl) ([a-z]+)[^`]*`"


@pytest.mark.parametrize("cause", NEEDED)
def test_each_cause_has_a_way_out(cause: Cause) -> None:
    assert WAYS_OUT[cause]


def test_no_way_out_is_of_a_cause_that_is_never_told() -> None:
    assert {cause.value for cause in Cause if cause not in NEEDED} & WAYS_OUT.keys() == set()


@pytest.mark.parametrize(("cause", "text"), WAYS_OUT.items(), ids=list(WAYS_OUT))
def test_way_out_is_one_to_three_sentences_without_a_place_that_is_not_filled(cause: str, text: str) -> None:
    said = way_out(cause, name="shop", about=WEB)
    assert said.endswith(".")
    assert not re.search(r"\{\w*\}", said)
    assert 1 <= len(re.findall(r"[.:](?= |$)", re.sub(r"`[^`]*`", "", text))) <= 5
    assert len(said) <= 320


@pytest.mark.parametrize(("cause", "text"), WAYS_OUT.items(), ids=list(WAYS_OUT))
def test_commands_of_a_way_out_exist(cause: str, text: str) -> None:
    context = click.Context(main.program)
    for program, command in re.findall(COMMANDS, text):
        if program == "rukpakctl":
            assert main.program.get_command(context, command) is not None, command
        else:
            assert command in {"annotate", "delete", "describe", "get"}


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (WEB, "kubectl describe deployment.apps/web -n shop"),
        (ObjectKey("", "Pod", "shop", "web-1"), "kubectl describe pod/web-1 -n shop"),
        (ObjectKey(GROUP, "Bundle", "", "shop-1"), "kubectl describe bundle.core.rukpak.io/shop-1`"),
    ],
)
def test_object_is_written_as_kubectl_takes_it(about: ObjectKey, text: str) -> None:
    assert text in way_out("ErrImagePull", name="shop", about=about)


def test_cause_of_another_release_has_none() -> None:
    assert not way_out("CauseOfALaterRelease", name="shop", about=WEB)


@pytest.mark.parametrize("reason", Reason)
def test_reason_is_on_the_troubleshooting_page(reason: Reason) -> None:
    assert f"`{reason}`" in (ROOT / TROUBLESHOOTING).read_text(encoding="utf-8")
