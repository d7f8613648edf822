"""Ports of the image source to the cluster: the pull secrets of the account."""

from typing import Any

import pytest

from rukpak_py.controllers.system_objects import AccountPullSecrets
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.errors import ErrorAnswer, NotFoundError


class Accounts:
    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer

    async def get(self, _resource: object, namespace: str, name: str) -> bytes:
        assert (namespace, name) == ("rukpak-system", "default")
        if self.answer is None:
            raise NotFoundError(ErrorAnswer(subject="test", status=404, message="not found"))
        return canonical_json(self.answer)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"imagePullSecrets": [{"name": "one"}, {"name": "two"}, {}]}, ("one", "two")),
        ({"imagePullSecrets": None}, ()),
        ({}, ()),
        (None, ()),
    ],
)
async def test_pull_secrets_of_the_account_are_named(answer: dict[str, Any] | None, expected: tuple[str, ...]) -> None:
    client: Any = Accounts(answer)
    secrets = AccountPullSecrets(client, "rukpak-system")
    assert secrets.last_names == (), "nothing has asked"
    assert await secrets.names() == secrets.last_names == expected
