"""`WWW-Authenticate`: what real registries send is understood, and what hostile ones send costs little."""

from collections.abc import Mapping

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.sources.image.tokens import LONGEST_HEADER, parse_challenges
from tests.steps import steps_of

Found = list[tuple[str, Mapping[str, str]]]
STEPS_PER_CHARACTER = 40

REAL: dict[str, tuple[str, Found]] = {
    "Docker Hub": (
        (
            'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",'
            'scope="repository:library/alpine:pull"'
        ),
        [
            (
                "bearer",
                {
                    "realm": "https://auth.docker.io/token",
                    "service": "registry.docker.io",
                    "scope": "repository:library/alpine:pull",
                },
            )
        ],
    ),
    "ghcr": (
        'Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:user/image:pull"',
        [
            (
                "bearer",
                {"realm": "https://ghcr.io/token", "service": "ghcr.io", "scope": "repository:user/image:pull"},
            )
        ],
    ),
    "quay": (
        'Bearer realm="https://quay.io/v2/auth",service="quay.io",scope="repository:a/b:pull,push"',
        [("bearer", {"realm": "https://quay.io/v2/auth", "service": "quay.io", "scope": "repository:a/b:pull,push"})],
    ),
    "ECR": (
        'Basic realm="https://1234.dkr.ecr.us-east-1.amazonaws.com/",service="ecr.amazonaws.com"',
        [
            (
                "basic",
                {"realm": "https://1234.dkr.ecr.us-east-1.amazonaws.com/", "service": "ecr.amazonaws.com"},
            )
        ],
    ),
    "Google Artifact Registry": (
        'Bearer realm="https://us-docker.pkg.dev/v2/token",service="us-docker.pkg.dev"',
        [("bearer", {"realm": "https://us-docker.pkg.dev/v2/token", "service": "us-docker.pkg.dev"})],
    ),
    "Harbor": (
        'Bearer realm="https://harbor.lan/service/token",service="harbor-registry",scope="repository:p/a:pull"',
        [
            (
                "bearer",
                {
                    "realm": "https://harbor.lan/service/token",
                    "service": "harbor-registry",
                    "scope": "repository:p/a:pull",
                },
            )
        ],
    ),
    "Artifactory, two headers": (
        (
            'Bearer realm="https://x.jfrog.io/artifactory/api/docker/r/v2/token",service="x.jfrog.io", '
            'Basic realm="Artifactory Realm"'
        ),
        [
            (
                "bearer",
                {"realm": "https://x.jfrog.io/artifactory/api/docker/r/v2/token", "service": "x.jfrog.io"},
            ),
            ("basic", {"realm": "Artifactory Realm"}),
        ],
    ),
    "basic before bearer, in capitals": (
        'BASIC realm="x", BEARER Realm="https://a/t",Service="s"',
        [("basic", {"realm": "x"}), ("bearer", {"realm": "https://a/t", "service": "s"})],
    ),
    "GitLab, with an error": (
        (
            'Bearer realm="https://gitlab.com/jwt/auth",service="container_registry",'
            'scope="repository:a/b:pull repository:c/d:pull",error="invalid_token"'
        ),
        [
            (
                "bearer",
                {
                    "realm": "https://gitlab.com/jwt/auth",
                    "service": "container_registry",
                    "scope": "repository:a/b:pull repository:c/d:pull",
                    "error": "invalid_token",
                },
            )
        ],
    ),
    "nginx": ('Basic realm="Registry, \\"private\\""', [("basic", {"realm": 'Registry, "private"'})]),
    "without quotes": (
        "Bearer realm=https://a/t?x=y,service = s",
        [("bearer", {"realm": "https://a/t?x=y", "service": "s"})],
    ),
    "tokens behind schemes": (
        "Negotiate YII==, NTLM, Basic",
        [("negotiate", {"yii": "="}), ("ntlm", {}), ("basic", {})],
    ),
    "a scheme inside quotes": (
        'Bearer realm="https://a/t",service="x, Basic realm=y"',
        [("bearer", {"realm": "https://a/t", "service": "x, Basic realm=y"})],
    ),
    "the first of two": ('Basic realm="a",realm="b"', [("basic", {"realm": "a"})]),
    "a quote that never closes": ('Bearer realm="https://a/t', [("bearer", {"realm": "https://a/t"})]),
    "nothing": ("", []),
    "parameters of nothing": ('realm="x",=,"y", ,', []),
}


@pytest.mark.parametrize("name", REAL)
def test_challenges_of_real_registries_are_parsed(name: str) -> None:
    header, expected = REAL[name]
    assert [(one.scheme, dict(one.parameters)) for one in parse_challenges(header)] == expected


PIECES = ['"', "\\", ",", "=", " ", "a", 'a="', "a=", ",a", "a ", '"\\', "Bearer ", ",bearer", 'realm="x",', "\t", "é"]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("start", ["", "Bearer ", 'Bearer realm="'])
def test_work_grows_with_the_length_only(piece: str, start: str) -> None:
    header = (start + piece * LONGEST_HEADER)[:LONGEST_HEADER]
    assert steps_of(lambda: parse_challenges(header)) < STEPS_PER_CHARACTER * LONGEST_HEADER


def test_header_that_is_too_long_is_refused_before_it_is_parsed() -> None:
    def parse() -> None:
        with pytest.raises(UnavailableError, match="has 60000 characters, more than 8 KiB"):
            parse_challenges("a=" * 30_000)

    assert steps_of(parse) < 10_000
