"""C6: a malformed field of one object is a refusal of this object: nothing of it escapes as another kind of failure.

`lane` is asked while a worker of the queue holds the key; what it raised would be a failure of the operator.
"""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.api.names import PLAIN_CLASS, SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import (
    Authorization,
    ConfigMapReference,
    ConfigMapSource,
    GitRef,
    GitSource,
    HttpSource,
    ImageSource,
    SecretReference,
)
from rukpak_py.core.errors import AccessError, RukPakError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.image.credentials import Keychain
from rukpak_py.sources.image.reference import parse_image
from rukpak_py.sources.source import FetchRequest
from tests.fuzzing import Choices, choices, fuzzed
from tests.sources_alone import sources_alone

# Nothing resolves: names have a dot at their start, and addresses are refused ones.
TEXTS = [
    *("", "https://127.0.0.1/a", "http://[::1]:1/a", "https://169.254.169.254/x", "git@[fe80::1]:a", "ssh://[::1]/a"),
    *(
        "https://u:p@.h/a",
        "ext::x",
        "file:///etc/passwd",
        "-x",
        "..",
        "../..",
        "a/../../b",
        "\n",
        "\0",
        "é",
        "%0a",
        "/",
    ),
    *(".h/a:b", "[::1]:5/a", "a@sha256:0", "https://[", "https://a:99999/", "a" * 3000, "@", ":", "\u202e", "💥"),
]
NAMES = ["", "..", "a/b", "a%2fb", "x" * 300, "é", "\0"]

SOURCES = sources_alone(AddressPolicy(), limits=replace(DEFAULT_LIMITS, git_seconds=1, http_seconds=1))


def source(chosen: Choices) -> Source:
    def text() -> str:
        return chosen.one(TEXTS)

    auth = Authorization(secret=SecretReference(name=chosen.one(NAMES)), insecure_skip_verify=bool(chosen.number % 2))
    ref = GitRef(branch=text(), tag=text(), commit=text())
    maps = tuple(
        ConfigMapSource(config_map=ConfigMapReference(name=text()), path=text()) for _ in range(chosen.number % 3)
    )
    return Source(
        type=chosen.seldom(["other"], chosen.one(list(SourceType))),
        image=chosen.seldom([None], ImageSource(ref=text(), pull_secret=chosen.one(NAMES), ca_bundle=text())),
        git=chosen.seldom([None], GitSource(repository=text(), directory=text(), ref=ref, auth=auth, ca_bundle=text())),
        http=chosen.seldom([None], HttpSource(url=text(), auth=auth, sha256=text(), ca_bundle=text())),
        config_maps=tuple(maps),
    )


@fuzzed
@given(choices.map(source))
async def test_c6_any_source_is_refused_for_a_reason(given: Source) -> None:
    assert SOURCES.lane(given) is not None
    with pytest.raises(RukPakError) as refused:
        await SOURCES.fetch(FetchRequest(bundle="b", uid="1", source=given, provisioner_class=PLAIN_CLASS))
    assert str(refused.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["auths", "auth", "username", "password", "identitytoken", "quay.io", "*.io/a[", "[z-a]", "é"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@fuzzed
@given(
    st.sampled_from([".dockerconfigjson", ".dockercfg", "other"]),
    JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=20),
)
@example(".dockerconfigjson", b'{"auths":{"quay.io":{"auth":"Og=="}}}')
def test_c6_any_pull_secret_is_logins_or_an_access_error(key: str, data: bytes) -> None:
    keychain = Keychain()
    with suppress(AccessError):
        keychain.add_secret({key: data})
    for ref in ("quay.io/a/b", "a.io:5000/x", "demo"):
        keychain.for_image(parse_image(ref))
