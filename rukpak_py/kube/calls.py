"""One request to the API server as a value, and its answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from rukpak_py.kube.errors import ErrorAnswer, InvalidError
from rukpak_py.kube.resources import Resource, is_segment

JSON = "application/json"
_SENSITIVE = frozenset({("", "Secret"), ("authentication.k8s.io", "TokenReview")})
ON_ONE = frozenset({"get", "apply", "patch", "update", "delete", "exec"})  # without a name they would mean all objects


class Repeat(Enum):
    """When a request that failed may be sent again."""

    SAFE = auto()  # repeating it does no harm even if the first one was carried out
    UNTOUCHED = auto()  # only when the server certainly did nothing: 429, or no connection was made
    NEVER = auto()


class Lane(Enum):
    """Where a request waits for its turn. The requests of one lane never wait for those of another."""

    LEASE = auto()  # leader election: a Lease that is renewed late is lost, and the process with it
    VITAL = auto()  # a caller waits for us with a deadline: admission look-ups, certificates
    WORK = auto()  # everything else


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    method: str
    verb: str  # get, list, watch, create, apply, patch, update, delete, exec, discover, review
    resource: Resource | None = None
    path: str = ""  # where there is no resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    params: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    etag: str = ""
    most: int | None = None  # bytes of an answer that are read; a longer one is an `AnswerTooLargeError`
    repeat: Repeat = Repeat.SAFE
    dry_run: bool = False
    user: str | None = None  # whom to act as; None: the operator itself
    lane: Lane = Lane.WORK
    fence: Callable[[], None] | None = None  # raises where a write may not be sent any more
    gate: Callable[[], None] | None = None  # raises where nothing may be sent, at the moment, as that user
    answered: Callable[[float], None] | None = None  # hears how many seconds each try took, without waiting for a place

    @property
    def counted_verb(self) -> str:
        """A dry-run is counted as such whatever it tries: it changes nothing."""
        return "dry_run" if self.dry_run else self.verb

    @property
    def url_path(self) -> str:
        """The path; raises `InvalidError` for names that would lead to another one, or to the whole collection."""
        if self.resource is None:
            return self.path
        if not is_segment(self.namespace) or not is_segment(self.name) or (self.verb in ON_ONE and not self.name):
            raise InvalidError(
                ErrorAnswer(subject=self.subject, reason="BadName", message="this is not a valid object name")
            )
        return self.resource.path(self.namespace, self.name, self.subresource)

    @property
    def query(self) -> Mapping[str, str | Sequence[str]]:
        return {**self.params, "dryRun": "All"} if self.dry_run else self.params

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Accept": self.accept}
        if self.body is not None:
            headers["Content-Type"] = self.content_type
        if self.etag:
            headers["If-None-Match"] = self.etag
        if self.user is not None:
            headers["Impersonate-User"] = self.user
        return headers

    @property
    def subject(self) -> str:
        """The call in words, for messages: `apply ConfigMap shop/settings`."""
        if self.resource is None:
            return f"{self.verb} {self.path}"
        key = self.resource.key(self.namespace, self.name)
        return f"{self.verb} {key if self.name else f'{key.group_kind} {key.namespace}'}".rstrip()

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    @property
    def is_sensitive(self) -> bool:
        """Its answers may quote the values of a Secret, or a token."""
        return self.resource is not None and self.resource.group_kind in _SENSITIVE


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpAnswer:
    status: int
    body: bytes
    headers: Mapping[str, str]
    resent: bool = False  # an earlier try may have been carried out without its answer reaching us
