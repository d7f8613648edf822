"""AdmissionReview, version admission.k8s.io/v1: what the API server asks and what it is answered.

A review that cannot be understood is not an answer to any question: `ReviewError`, HTTP 400 with its text. With
`failurePolicy: Fail` the API server then refuses the request, and shows the text.
"""

from typing import Any

import msgspec

from rukpak_py.api.admission import Denials, denial_text
from rukpak_py.core.errors import RukPakError

API_VERSION = "admission.k8s.io/v1"


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


_DECODER = msgspec.json.Decoder(Review)
_OBJECT_DECODER = msgspec.json.Decoder(dict[str, Any])


def read_review(body: bytes) -> AdmissionRequest:
    try:
        review = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"this is not an AdmissionReview of {API_VERSION}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise ReviewError(f"only AdmissionReview of {API_VERSION} is supported")
    if not review.request.uid:
        raise ReviewError("the review has no uid")
    return review.request


def read_object(raw: msgspec.Raw, what: str) -> dict[str, Any]:
    """The object of a review; `what` names the field for the error."""
    if bytes(raw) in {b"", b"null"}:
        raise ReviewError(f"the review has no {what}")
    try:
        return _OBJECT_DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"{what} of the review is not an object: {error}") from error


def answer(uid: str, denials: Denials) -> bytes:
    """The review's answer. Users of the original see the text twice, as reason and in the message.

    Without code 403 the API server would answer 400, and clients would read another reason.
    """
    response: dict[str, Any] = {"uid": uid, "allowed": not denials}
    if denials:
        text = denial_text(denials)
        response["status"] = {"status": "Failure", "code": 403, "reason": text, "message": text}
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})
