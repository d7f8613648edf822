"""A deployment reports the Bundle of its template that is not unpacked as the Bundle itself reports it."""

import dataclasses

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.controllers.deployment.template_bundle import unpack_cause, unpack_fact
from rukpak_py.controllers.result.bundle_details import (
    ContentPending,
    OtherContentFound,
    UnknownClass,
    Unpacking,
    UploadLost,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from tests.unit.controllers.result.concluding import FRESH, after, progress
from tests.unit.controllers.values import bundle, conditions, failing, spec, telling

CLASSES = {PLAIN_CLASS}
FOREIGN = "example-com-other"
WAITING = "Waiting for the b Bundle to be unpacked"
NOT_SERVED = f'{WAITING}; this operator does not serve its class "{FOREIGN}"'
PULLING = telling(
    bundle(),
    Cause.IMAGE_PENDING,
    ContentPending(source="image", message='Back-off pulling image "x"\nmore', line="not found"),
)
UPLOAD = telling(bundle(), Cause.UPLOAD_PENDING, ContentPending(source="upload", message="Waiting for the upload"))

MISSPELT = "core-rukpak-io-plian"
UNKNOWN = UnknownClass(class_name=MISSPELT, field="spec.template.spec.provisionerClassName")


def failed(error: RukPakError, message: str = "why") -> Bundle:
    return failing(bundle(), message, error)


def foreign(one: Bundle, name: str = FOREIGN) -> Bundle:
    return replace(one, spec=spec(provisioner=name))


def told(one: Bundle) -> dict[str, tuple[str, str, str]]:
    """Conditions of a deployment that has nothing installed, after the first moment."""
    lasting = dataclasses.replace(unpack_fact(one, CLASSES), since=0.0)
    return conditions(after(FRESH, progress(lasting)))


@pytest.mark.parametrize(
    ("one", "cause", "text"),
    [
        (bundle(), Cause.BUNDLE_UNPACKING, WAITING),
        (telling(bundle(), Cause.UNPACKING, Unpacking(source="configMaps")), Cause.BUNDLE_UNPACKING, WAITING),
        (PULLING, Cause.BUNDLE_UNPACKING, WAITING),
        (failed(ContentError("m")), Cause.UNPACK_CONTENT, "Failed to unpack the b Bundle: why"),
        (failed(ContentError("m"), "one\ntwo"), Cause.UNPACK_CONTENT, "Failed to unpack the b Bundle: one\ntwo"),
        (
            foreign(bundle()),
            Cause.BUNDLE_CLASS_NOT_SERVED,
            NOT_SERVED,
        ),
        (foreign(failed(ContentError("m"))), Cause.UNPACK_CONTENT, "Failed to unpack the b Bundle: why"),
        (foreign(bundle(), MISSPELT), Cause.UNPACK_CLASS, UNKNOWN.text(())),
        (foreign(failed(ContentError("m")), MISSPELT), Cause.UNPACK_CLASS, UNKNOWN.text(())),  # as it told itself
        (foreign(bundle(), "core.rukpak.io/plain"), Cause.BUNDLE_UNPACKING, WAITING),  # a legacy spelling
    ],
)
def test_a_bundle_that_is_not_unpacked_has_a_cause_and_a_text(one: Bundle, cause: Cause, text: str) -> None:
    found = unpack_fact(one, CLASSES)
    assert (found.cause, found.text) == (cause, text)
    assert (found.objects, found.at, found.wakes) == ((), None, frozenset()), "its watch brings the key back"


@pytest.mark.parametrize(
    ("one", "cause"),
    [
        (failed(ContentError("m")), Cause.UNPACK_CONTENT),
        (failed(AccessError("m")), Cause.UNPACK_DENIED),
        (failed(ConflictError("m")), Cause.UNPACK_CONFLICT),
        (failed(UnavailableError("m")), Cause.UNPACK_UNAVAILABLE),
        (failed(RukPakError("m")), Cause.UNPACK_FAILED),
        (
            telling(bundle(), Cause.CONTENT_CHANGED, OtherContentFound(found="sha256:2", unpacked="sha256:1")),
            Cause.UNPACK_CHANGED,
        ),
        (telling(bundle(), Cause.CONTENT_LOST, UploadLost(unpacked="sha256:1")), Cause.UNPACK_LOST),
        (bundle(), Cause.UNPACK_FAILED),  # says nothing
    ],
)
def test_a_failure_is_what_its_bundle_says_it_is(one: Bundle, cause: Cause) -> None:
    assert unpack_cause(one) is cause


@pytest.mark.parametrize(
    ("one", "valid"),
    [
        (bundle(), ("Unknown", "UnpackPending", WAITING)),
        (PULLING, ("Unknown", "UnpackPending", WAITING)),
        (foreign(bundle()), ("Unknown", "BundleClassNotServed", NOT_SERVED)),
        (failed(ContentError("m"), "one\ntwo"), ("False", "UnpackFailed", "Failed to unpack the b Bundle: one\ntwo")),
    ],
)
def test_has_valid_bundle(one: Bundle, valid: tuple[str, str, str]) -> None:
    assert told(one)["HasValidBundle"] == valid


@pytest.mark.parametrize(
    ("one", "ready", "beside"),
    [
        (bundle(), ("Unknown", "UnpackPending", WAITING), "Reconciling"),
        (PULLING, ("Unknown", "UnpackPending", "Waiting for its Bundle to be unpacked: not found"), "Reconciling"),
        (
            UPLOAD,
            ("Unknown", "UnpackPending", "Waiting for its Bundle to be unpacked: Waiting for the upload"),
            "Reconciling",
        ),
        (
            failed(ContentError("m"), "one\ntwo"),
            ("False", "ContentError", "Failed to unpack its Bundle: one"),
            "Stalled",
        ),
        (
            failed(UnavailableError("m")),
            ("False", "Unavailable", "Failed to unpack its Bundle: why"),
            "Reconciling",
        ),
        (failed(AccessError("m")), ("False", "AccessDenied", "Failed to unpack its Bundle: why"), "Reconciling"),
    ],
)
def test_a_deployment_is_as_its_bundle_is(one: Bundle, ready: tuple[str, str, str], beside: str) -> None:
    """Ready names the obstacle."""
    found = told(one)
    assert found["Ready"] == ready
    assert {"Reconciling", "Stalled"} & found.keys() == {beside}


def test_the_status_of_a_bundle_that_a_former_release_wrote_is_no_error() -> None:
    one = replace(bundle(), status=BundleStatus(phase="Failing"))
    assert unpack_fact(one, CLASSES).text == "Failed to unpack the b Bundle"


def test_long_names_leave_room_for_the_cause() -> None:
    """In the 300 characters of Ready."""
    reference = f"registry.example.com/{'team/' * 20}demo:v1"
    pulled = (
        f'Back-off pulling image "{reference}": ErrImagePull: failed to pull and unpack image "{reference}": not found'
    )
    detail = ContentPending(source="image", message=pulled, line="the node cannot pull the image: not found")
    refused = f"source bundle content: the registry answers GET with 404: manifest unknown (image {reference})"
    for one, cause in (
        (telling(bundle("b" * 52), Cause.IMAGE_PENDING, detail), "not found"),
        (failing(bundle("b" * 52), refused, UnavailableError("404")), "404: manifest unknown"),
    ):
        assert cause in told(one)["Ready"][2]
