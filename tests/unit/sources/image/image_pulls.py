"""Pulls from the registry of a test, and what their refusals say."""

from collections.abc import Sequence
from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.addresses import AddressPolicy, parse_networks
from rukpak_py.sources.image.client import Advice
from rukpak_py.sources.image.credentials import RegistryCredentials
from rukpak_py.sources.image.layer_files import tree_of_layers
from rukpak_py.sources.image.layers import below
from rukpak_py.sources.image.pull import ImagePull, PullOptions
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.image.reference import ImageReference, parse_image
from tests.unit.sources.image.image_registry import REPOSITORY
from tests.unit.web_servers import Server
from tests.workers import SPOOL

ADVICE = Advice(login="Log in.", certificate="Trust it.", no_tls="Name it.")
LOOPBACK = AddressPolicy(allowed=parse_networks("127.0.0.0/8,::1"))
FILES = {"manifests/a.yaml": b"a: 1"}


def reference(server: Server, name: str = ":v1") -> ImageReference:
    return parse_image(f"{server.address}/{REPOSITORY}{name}")


def pulled(
    image: ImageReference,
    *,
    logins: Sequence[RegistryCredentials] = (),
    limits: Limits = DEFAULT_LIMITS,
    **options: Any,
) -> tuple[ImageReference, Tree]:
    given = PullOptions(limits=limits, advice=ADVICE, **{"addresses": LOOPBACK, **options})
    with ReceivedFiles(SPOOL) as files:
        pull = ImagePull(image, logins, given, files)
        try:
            return pull.resolve(), tree_of_layers(pull.download(), below("manifests"), limits)
        finally:
            pull.abort()


def refused(image: ImageReference, kind: type[RukPakError], **given: Any) -> str:
    with pytest.raises(kind) as caught:
        pulled(image, **given)
    return str(caught.value)
