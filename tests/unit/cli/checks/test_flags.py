"""The operator's flags, as its Deployment has them."""

from typing import Any

import pytest

from rukpak_py.api.accounts import Mode
from rukpak_py.cli.checks.flags import OperatorFlags, flags_of, versions_of
from tests.unit.cli.checks import sound


def flags(*arguments: str, env: tuple[dict[str, Any], ...] = ()) -> OperatorFlags:
    deployment = sound.deployment()
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container |= {"args": list(arguments), "env": list(env)}
    return flags_of(deployment)


@pytest.mark.parametrize(
    ("arguments", "env", "mode"),
    [
        ((), (), Mode.CLASSIC),
        (("--mode=narrow",), (), Mode.NARROW),
        (("--mode", "narrow", "--leader-elect"), (), Mode.NARROW),
        (("--mode=narrow", "--mode=classic"), (), Mode.CLASSIC),
        ((), ({"name": "RUKPAK_MODE", "value": "narrow"},), Mode.NARROW),
        (("--mode=classic",), ({"name": "RUKPAK_MODE", "value": "narrow"},), Mode.CLASSIC),
        (("--mode=classic",), ({"name": "RUKPAK_MODE", "valueFrom": {"fieldRef": {}}},), Mode.CLASSIC),
        ((), ({"name": "RUKPAK_MODE", "valueFrom": {"fieldRef": {}}},), None),
        (("--mode=wide",), (), None),
    ],
)
def test_mode(arguments: tuple[str, ...], env: tuple[dict[str, Any], ...], mode: Mode | None) -> None:
    assert flags(*arguments, env=env).known_mode == mode


def test_other_flags() -> None:
    found = flags("--leader-elect", "--default-service-account=installer", "--webhook-url", "https://a")
    assert (found.leader_elect, found.default_account, found.webhook_url) == (True, "installer", "https://a")
    assert not flags("--leader-elect=false").leader_elect


def test_odd_deployment_has_the_defaults() -> None:
    odd_ones: list[dict[str, Any]] = [{}, {"spec": None}, {"spec": {"template": {"spec": {"containers": []}}}}]
    for odd in odd_ones:
        assert flags_of(odd) == OperatorFlags()


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("localhost/rukpak-py/operator:0.1.0", "0.1.0"),
        ("localhost:5000/operator:0.1.0@sha256:aa", "0.1.0"),
        ("localhost:5000/operator@sha256:aa", ""),
        ("localhost:5000/operator", ""),
    ],
)
def test_tag_of_the_image(image: str, tag: str) -> None:
    assert versions_of(sound.deployment(image=image)).tag == tag
