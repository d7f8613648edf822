"""AdmissionReview, version admission.k8s.io/v1: what the API server asks and what it is answered.

A review that cannot be understood is not an answer to any question: `ReviewError`, HTTP 400 with its text. With
`failurePolicy: Fail` the API server then refuses the request, and shows the text.

Only the fields that the rules need are decoded. What else an object has is skipped without a Python object for it:
eight MiB of empty lists would be hundreds of MiB of them.

Every byte of a review that is being received or judged counts, whichever connection it came by. When the bytes of one
more piece do not fit, the oldest review that has not arrived as a whole gives way, and if there is none, the oldest
that is being judged: the API server sends a review within milliseconds, so the review of a client that sends slowly,
or never ends, is older than the next real one. A review that gives way loses its connection, and its bytes are free at
once.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from rukpak_py.api.admission import Decision, denial_text
from rukpak_py.api.bundle import BundleSpec
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.limits import Limits

API_VERSION = "admission.k8s.io/v1"
LONGEST_UID = 128  # characters; it is sent back as it came

_Object = TypeVar("_Object")


class ReviewError(RukPakError):
    """The body of the request is no review that we can judge."""


class GroupVersionResource(msgspec.Struct, frozen=True, kw_only=True):
    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    uid: str
    operation: str
    resource: GroupVersionResource
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    object: msgspec.Raw = msgspec.Raw()
    old_object: msgspec.Raw = msgspec.Raw()


class Review(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str
    kind: str
    request: AdmissionRequest


class BundleObject(msgspec.Struct, frozen=True, kw_only=True):
    spec: BundleSpec


class ConfigMapMeta(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""


class ConfigMapObject(msgspec.Struct, frozen=True, kw_only=True):
    metadata: ConfigMapMeta = ConfigMapMeta()
    immutable: bool | None = None


_DECODER = msgspec.json.Decoder(Review)


def read_review(body: bytes) -> AdmissionRequest:
    try:
        review = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"this is not an AdmissionReview of {API_VERSION}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise ReviewError(f"only AdmissionReview of {API_VERSION} is supported")
    if not review.request.uid:
        raise ReviewError("the review has no uid")
    if len(review.request.uid) > LONGEST_UID:
        raise ReviewError(f"the uid of the review has more than {LONGEST_UID} characters")
    return review.request


def read_object(raw: msgspec.Raw, what: str, kind: type[_Object]) -> _Object:
    """The object of a review; `what` names the field for the error."""
    if len(memoryview(raw)) <= len(b"null") and bytes(raw) in {b"", b"null"}:
        raise ReviewError(f"the review has no {what}")
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"{what} of the review cannot be read: {error}") from error


def answer(uid: str, decision: Decision) -> bytes:
    """The review's answer. Users of the original see the text twice, as reason and in the message.

    Without code 403 the API server would answer 400, and clients would read another reason. The causes tell it from a
    missing permission, for the operator itself: the object is what is refused.
    """
    denials = decision.denials
    response: dict[str, Any] = {"uid": uid, "allowed": not denials}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if denials:
        text = denial_text(denials)
        details = {"causes": [{"reason": "FieldValueInvalid", "message": denial} for denial in dict.fromkeys(denials)]}
        response["status"] = {"status": "Failure", "code": 403, "reason": text, "message": text, "details": details}
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})


class LateError(RukPakError):
    """The body of a review did not arrive in time."""


class Reception:
    """One review, from its first byte to its answer."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        self.give_up = give_up
        self.size = 0
        self.is_whole = False


class ReviewsInFlight:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._receptions: dict[Reception, None] = {}  # the oldest first
        self.held = 0  # bytes

    @contextmanager
    def reception(self, give_up: Callable[[], None]) -> Iterator[Reception]:
        """`give_up` ends the review's connection and forgets its bytes."""
        reception = Reception(give_up)
        self._receptions[reception] = None
        try:
            yield reception
        finally:
            self._release(reception)

    def add(self, reception: Reception, size: int) -> None:
        """Count more bytes of a review; UnavailableError when there is no room for them."""
        while self.held + size > self._limits.reviews_bytes:
            others = [one for one in self._receptions if one is not reception]
            oldest = next((one for one in others if not one.is_whole), others[0] if others else None)
            if oldest is None:
                raise UnavailableError(str(self._limits.exceeded("reviews_bytes", "the size of all admission reviews")))
            self._release(oldest)
            oldest.give_up()
        if reception in self._receptions:
            reception.size += size
            self.held += size

    def _release(self, reception: Reception) -> None:
        if reception in self._receptions:
            del self._receptions[reception]
            self.held -= reception.size


async def read_body(request: web.Request, reception: Reception, reviews: ReviewsInFlight, limits: Limits) -> bytes:
    """The whole body; LimitError when it is too large, LateError when it takes too long."""
    too_large = limits.exceeded("review_bytes", "the admission review")
    if (request.content_length or 0) > limits.review_bytes:
        raise too_large
    pieces: list[bytes] = []  # a buffer that grows would be copied again and again, and leave holes
    try:
        async with asyncio.timeout(limits.request_seconds):
            while piece := await request.content.readany():
                if reception.size + len(piece) > limits.review_bytes:
                    raise too_large
                reviews.add(reception, len(piece))
                pieces.append(piece)
    except TimeoutError as error:
        limit = limits.exceeded("request_seconds", "the time that the admission review takes to arrive")
        raise LateError(str(limit)) from error
    reception.is_whole = True
    return b"".join(pieces)
