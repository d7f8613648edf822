"""The content server's ports in terms of the API server: reviews of callers, live Bundles, and who signs clients."""

import msgspec
import orjson

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.reading import read_bundle
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS, SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from rukpak_py.server.access import Identity
from rukpak_py.server.uploads import UploadRefusedError

AUTHENTICATION = ("kube-system", "extension-apiserver-authentication")  # what the API server tells those beside it
CLIENT_CA_KEY = "client-ca-file"


class ApiReviews:
    """The content server's `Reviews`. Only tokens that are meant for the API server count."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def authenticate(self, token: str) -> Identity | None:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = await self._client.review(TOKEN_REVIEWS, canonical_json(body))
        status = msgspec.json.decode(answer, type=_TokenReview).status
        if not status.authenticated or status.error:
            return None
        user = status.user
        return Identity(user=user.username, uid=user.uid, groups=user.groups, extra=user.extra)

    async def is_allowed(self, identity: Identity, verb: str, path: str) -> bool:
        spec = {
            "user": identity.user,
            "uid": identity.uid,
            "groups": list(identity.groups),
            "extra": {key: list(values) for key, values in identity.extra.items()},
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = await self._client.review(SUBJECT_ACCESS_REVIEWS, canonical_json(body))
        status = msgspec.json.decode(answer, type=_AccessReview).status
        return status.allowed and not status.denied


class LiveBundles:
    """Bundles as the API server has them at this moment, whatever a watch knows."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, name: str) -> Bundle:
        body = await self._client.get(BUNDLES, "", name)
        try:
            return read_bundle(orjson.loads(body))
        except ContentError as error:
            raise UploadRefusedError(500, f'bundle "{name}" cannot be read: {error}') from error


class ClientAuthority:
    """The authority that signs the certificates of the API server's clients."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self) -> bytes:
        manifest = orjson.loads(await self._client.get(CONFIG_MAPS, *AUTHENTICATION))
        return str((manifest.get("data") or {}).get(CLIENT_CA_KEY, "")).encode()


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    error: str = ""
    user: _User = _User()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()
