"""Authentication and authorization of callers by the API server, whose answers are remembered for a few seconds.

A bearer token is reviewed by the API server; a client certificate was verified when the connection was made. Then the
API server is asked for the right to the path. Only a yes is remembered, for this caller, verb and path alone, and for
`ALLOWED_SECONDS`; a no is never remembered, and ends what is remembered of the caller. A request that cannot be judged
is not allowed. Tokens are known by a keyed hash only, and never logged.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from rukpak_py.api.accounts import Account
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_PLURAL, GROUP
from rukpak_py.core.errors import AccessError
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS

ALLOWED_SECONDS = 10.0
REMEMBERED = 4096
REVIEWS = 8  # at a time: callers without any right must not keep the operator from its own requests

PERMISSIONS_PATH = "/permissions/"  # and the name of a BundleDeployment
PLANS_PATH = "/plans/"  # the same
PAGE_PATH = "/ui/"
_VERBS = {"GET": "get", "HEAD": "get", "PUT": "update", "POST": "create", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, kw_only=True)
class Identity:
    user: str
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ClientCredentials:
    """Credentials that a caller has shown: a verified certificate, or a token that was not reviewed yet."""

    certificate: Identity | None = None
    token: str = ""


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


class ApiReviews:
    """The API server's opinion; `UnavailableError` when it has none. Only tokens that are meant for it count."""

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
        """Permissions and the plan of a deployment are for users who may read the deployment.

        The page is for every user that the API server knows: it judges each of the reads that the page makes.
        """
        if path == PAGE_PATH:
            return True
        if path.startswith((PERMISSIONS_PATH, PLANS_PATH)):
            name = path.split("/", 2)[2]
            what = {"group": GROUP, "resource": BUNDLE_DEPLOYMENT_PLURAL, "name": name}
            return bool(name) and await self._review(identity, {"resourceAttributes": {**what, "verb": verb}})
        return await self._review(identity, {"nonResourceAttributes": {"path": path, "verb": verb}})

    async def may_impersonate(self, identity: Identity, account: Account) -> bool:
        what = {"resource": "serviceaccounts", "namespace": account.namespace, "name": account.name}
        return await self._review(identity, {"resourceAttributes": {**what, "verb": "impersonate"}})

    async def _review(self, identity: Identity, attributes: Mapping[str, object]) -> bool:
        spec = {
            "user": identity.user,
            "uid": identity.uid,
            "groups": list(identity.groups),
            "extra": {key: list(values) for key, values in identity.extra.items()},
            **attributes,
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = await self._client.review(SUBJECT_ACCESS_REVIEWS, canonical_json(body))
        status = msgspec.json.decode(answer, type=_AccessReview).status
        return status.allowed and not status.denied


class UnauthenticatedError(AccessError):
    """The API server does not know the caller."""


class ForbiddenPathError(AccessError):
    """The API server knows the caller, who lacks the right."""


class AccessControl:
    def __init__(self, reviews: ApiReviews, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviews = reviews
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._turns = asyncio.Semaphore(REVIEWS)
        self._allowed: OrderedDict[tuple[str, str, str], tuple[float, Identity]] = OrderedDict()

    async def check(self, credentials: ClientCredentials, method: str, path: str) -> Identity:
        """Identify an allowed caller; `UnauthenticatedError` and `ForbiddenPathError` say no."""
        verb = _VERBS.get(method, "*")
        caller = self._caller(credentials)
        remembered = self._allowed.get((caller, verb, path))
        if remembered is not None and self._clock() < remembered[0]:
            return remembered[1]
        began = self._clock()
        try:
            async with self._turns:
                identity = credentials.certificate or await self._authenticate(credentials.token)
                if not await self._reviews.is_allowed(identity, verb, path):
                    raise ForbiddenPathError(f"Forbidden (user={identity.user}, verb={verb}, resource=, subresource=)")
        except AccessError:
            for known in [known for known in self._allowed if known[0] == caller]:
                del self._allowed[known]
            raise
        self._allowed.pop((caller, verb, path), None)
        self._allowed[caller, verb, path] = (began + ALLOWED_SECONDS, identity)
        while len(self._allowed) > REMEMBERED:
            self._allowed.popitem(last=False)
        return identity

    async def _authenticate(self, token: str) -> Identity:
        identity = await self._reviews.authenticate(token) if token else None
        if identity is None or not identity.user.strip():
            raise UnauthenticatedError("Unauthorized")
        return identity

    def _caller(self, credentials: ClientCredentials) -> str:
        if credentials.certificate is not None:
            return f"certificate of {credentials.certificate}"
        return hmac.new(self._key, credentials.token.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()


def token_of(headers: Sequence[str]) -> str:
    """The bearer token of the `Authorization` headers; empty when there is none, or more than one header."""
    if len(headers) != 1:
        return ""
    scheme, _, token = headers[0].strip().partition(" ")
    token = token.strip()
    is_token = scheme.lower() == "bearer" and token.isascii() and token.isprintable() and " " not in token
    return token if is_token else ""


def identity_of(certificate: Mapping[str, object] | None) -> Identity | None:
    """Whom a verified client certificate names, as the API server reads it: CN is the user, each O a group."""
    subject = certificate.get("subject") if certificate else None
    if not isinstance(subject, tuple):
        return None
    names = [(str(pair[0]), str(pair[1])) for part in subject for pair in part]
    user = next((value for kind, value in names if kind == "commonName"), "")
    groups = [value for kind, value in names if kind == "organizationName"]
    return Identity(user=user, groups=(*groups, "system:authenticated")) if user.strip() else None
