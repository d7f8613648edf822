"""What the image source knows of the cluster: pull secrets of the account, and content that is there already."""

from typing import Any

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.api.reading import read_bundle
from rukpak_py.content.tree import Tree
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.errors import ErrorAnswer, NotFoundError
from rukpak_py.operator.adapters import AccountPullSecrets, StoredImages
from tests.unit.bundles import tree_of

REF = f"quay.io/team/demo@sha256:{0:064}"
TREE = tree_of({"manifests/a": "1"})


class Accounts:
    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer

    async def get(self, _resource: object, namespace: str, name: str) -> bytes:
        assert (namespace, name) == ("rukpak-system", "default")
        if self.answer is None:
            raise NotFoundError(ErrorAnswer(subject="test", status=404, message="not found"))
        return canonical_json(self.answer)


def bundle(digest: str, *, ref: str = REF, class_name: str = PLAIN_CLASS) -> Bundle:
    image = {"type": "image", "image": {"ref": ref}}
    conditions = [{"type": "Unpacked", "status": "True", "reason": "x", "message": "", "lastTransitionTime": "x"}]
    return read_bundle(
        canonical_json(
            {
                "metadata": {"name": "b", "uid": "u", "generation": 1, "resourceVersion": "1"},
                "spec": {"provisionerClassName": class_name, "source": image},
                "status": {"resolvedSource": image, "digest": digest, "phase": "Unpacked", "conditions": conditions},
            }
        )
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"imagePullSecrets": [{"name": "one"}, {"name": "two"}, {}]}, ("one", "two")),
        ({"imagePullSecrets": None}, ()),
        ({}, ()),
        (None, ()),
    ],
)
async def test_pull_secrets_of_the_account(answer: dict[str, Any] | None, expected: tuple[str, ...]) -> None:
    client: Any = Accounts(answer)
    assert tuple(await AccountPullSecrets(client, "rukpak-system").names()) == expected


async def test_content_of_an_image_that_a_bundle_of_the_class_has() -> None:
    asked: list[str] = []

    async def load(digest: str) -> Tree | None:
        asked.append(digest)
        return TREE

    bundles = [
        bundle("sha256:other-image", ref="quay.io/team/other@sha256:1"),
        bundle("sha256:other-class", class_name=REGISTRY_CLASS),
        bundle(""),
        bundle("sha256:this"),
    ]
    images = StoredImages(bundles, load)
    assert await images.find(REF, PLAIN_CLASS) is TREE
    assert await images.find(REF, "core.rukpak.io/plain") is TREE
    assert asked == ["sha256:this"] * 2
    assert await images.find(f"{REF}0", PLAIN_CLASS) is None
    assert await StoredImages([], load).find(REF, PLAIN_CLASS) is None
