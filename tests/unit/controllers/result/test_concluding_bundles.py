"""Bundles that are fetched, wait, fail and are pinned."""

from dataclasses import replace

import pytest

from rukpak_py.controllers.result.bundle_details import ContentPending, Unpacking
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress, Words
from tests.unit.controllers.result.concluding import (
    FINISHED,
    FIRST,
    NEW_BUNDLE,
    NOW,
    SECRET,
    Case,
    after,
    case,
    content,
    fact,
    problems,
    progress,
    turn,
)

UNPACKED = after(NEW_BUNDLE, progress(reached=FINISHED, content=content()))
FAILS = fact(Cause.FETCH_UNAVAILABLE, "502")
FAILING = after(NEW_BUNDLE, progress(FAILS))
CHANGED = after(UNPACKED, progress(fact(Cause.SPEC_CHANGED)))
LOGIN = Words(words="401: a login is needed (image q.io/a:1)", line="401: a login is needed")
NODE = ContentPending(source="image", message='Back-off pulling image "q.io/a:1": not found', line="not found")


def refused(cause: Cause, since: float, *others: Fact, node: ContentPending = NODE) -> Progress:
    """Progress of an image that the registry refuses and that the node has not got either."""
    return progress(fact(cause, LOGIN, since=since), fact(Cause.IMAGE_PENDING, node), *others)


REFUSED = after(NEW_BUNDLE, refused(Cause.IMAGE_DENIED, NOW))
REFUSED_FOR_LONG = after(REFUSED, refused(Cause.IMAGE_DENIED, NOW - 120))
DENIED = fact(Cause.FETCH_DENIED, "401", wakes=frozenset({SECRET}))

BUNDLES = [
    case(
        "a Bundle that is unpacked",
        NEW_BUNDLE,
        progress(reached=FINISHED, content=content()),
        Unpacked="True UnpackSuccessful Successfully unpacked the configMaps Bundle",
        Ready="True UnpackSuccessful Successfully unpacked the configMaps Bundle",
        phase="Unpacked",
        url="https://core/b1.tgz",
        events=["Normal Unpacked"],
        texts=["Successfully unpacked the configMaps Bundle, d1"],
        failures=0,
        attempt=None,
    ),
    case(
        "a fetch that takes long",
        NEW_BUNDLE,
        progress(fact(Cause.UNPACKING, Unpacking(source="http"), since=NOW - 1), fact(Cause.JOB_RUNNING)),
        Unpacked="False Unpacking",
        Ready="Unknown Unpacking Unpacking the http Bundle",
        phase="Unpacking",
        events=[],
        under_way=True,
    ),
    case(
        "an upload that is awaited",
        NEW_BUNDLE,
        progress(fact(Cause.UPLOAD_PENDING, ContentPending(source="upload"))),
        Unpacked="False UnpackPending",
        Ready="Unknown UnpackPending Waiting for the content of the upload Bundle",
        phase="Pending",
        failures=1,
        attempt=None,
    ),
    case(
        "an image that a node pulls is looked for once a minute, whatever echoes come",
        NEW_BUNDLE,
        progress(fact(Cause.IMAGE_PENDING, ContentPending(source="image", message="Back-off"))),
        key=replace(FIRST, turn=turn(4)),
        Ready="Unknown UnpackPending Back-off",
        Unpacked="False UnpackPending Back-off",
        failures=4,
        attempt=NOW + 60,
    ),
    case(
        "of an image that the registry refuses, the direct cause stands before the words of the node",
        NEW_BUNDLE,
        refused(Cause.IMAGE_DENIED, NOW),
        Unpacked=(
            "False UnpackPending 401: a login is needed (image q.io/a:1)"
            ' && Back-off pulling image "q.io/a:1": not found'
        ),
        Ready="Unknown UnpackPending 401: a login is needed && not found",
        phase="Pending",
        events=[],
        attempt=NOW + 60,
        report=NOW + 120,
    ),
    case(
        "a refusal that has lasted for two minutes is a failure, and a look says so",
        REFUSED,
        refused(Cause.IMAGE_DENIED, NOW - 120, fact(Cause.NOT_DUE)),
        key=replace(FIRST, turn=turn(1, attempt_at=150.0, is_attempt=False)),
        Unpacked=(
            'False UnpackFailed 401: a login is needed (image q.io/a:1) && Back-off pulling image "q.io/a:1": not found'
        ),
        Ready="False AccessDenied 401: a login is needed; attempt 1, next at 00:02:30Z",
        phase="Failing",
        events=["Warning UnpackFailed"],
        texts=["401: a login is needed"],
        attempt=150.0,
        failures=1,
    ),
    case(
        "an image that is not found is looked for once a minute",
        after(NEW_BUNDLE, refused(Cause.IMAGE_NOT_FOUND, NOW)),
        refused(Cause.IMAGE_NOT_FOUND, NOW - 120),
        Ready="False Unavailable",
        events=["Warning UnpackFailed"],
        attempt=NOW + 60,
    ),
    case(
        "other words of the node are no news of the failure",
        REFUSED_FOR_LONG,
        refused(Cause.IMAGE_DENIED, NOW - 134, node=ContentPending(source="image", message="not found")),
        Unpacked="False UnpackFailed 401: a login is needed (image q.io/a:1) && not found",
        Ready="False AccessDenied",
        events=[],
    ),
    case(
        "nor does another process count anew",
        REFUSED_FOR_LONG,
        refused(Cause.IMAGE_DENIED, NOW),
        Ready="False AccessDenied",
        events=[],
    ),
    case(
        "a registry that only the nodes reach is no failure, however long they take",
        NEW_BUNDLE,
        refused(Cause.REGISTRY_UNUSABLE, NOW - 86400),
        Ready="Unknown UnpackPending 401: a login is needed && not found",
        events=[],
        report=None,
    ),
    case(
        "content that is wrong is not fetched again",
        NEW_BUNDLE,
        progress(fact(Cause.FETCH_CONTENT, "no manifests\nat all")),
        Unpacked="False UnpackFailed no manifests\nat all",
        Ready="False ContentError no manifests",
        phase="Failing",
        url="",
        texts=["no manifests"],
        attempt=None,
        failures=1,
    ),
    case(
        "a refused login waits for its Secret, or five minutes, and says so",
        NEW_BUNDLE,
        progress(DENIED),
        Ready="False AccessDenied 401; attempt 1, next at 00:06:40Z",
        Unpacked="False UnpackFailed 401",
        attempt=NOW + 300,
        failures=1,
        wakes={SECRET},
    ),
    case(
        "a look is no attempt",
        FAILING,
        progress(FAILS),
        key=replace(FIRST, turn=turn(8, attempt_at=150.0, is_attempt=False)),
        attempt=150.0,
        failures=8,
        events=[],
    ),
    case(
        "a look at what waits for a wake-up is none either",
        FAILING,
        progress(fact(Cause.FETCH_CONTENT)),
        key=replace(FIRST, turn=turn(1, is_attempt=False)),
        attempt=None,
        failures=1,
    ),
    case(
        "a failure that a look finds where nothing is planned is tried again",
        FAILING,
        progress(FAILS),
        key=replace(FIRST, turn=turn(1, is_attempt=False)),
        attempt=NOW + 0.5,
        failures=2,
    ),
    case(
        "a look that finds out nothing leaves everything as it is",
        FAILING,
        progress(fact(Cause.NOT_DUE)),
        key=replace(FIRST, turn=turn(8, attempt_at=150.0, is_attempt=False)),
        same=FAILING,
        attempt=150.0,
        failures=8,
    ),
    case(
        "the next attempt goes on across the end of its job",
        FAILING,
        progress(fact(Cause.JOB_RUNNING)),
        key=replace(FIRST, turn=turn(8)),
        same=FAILING,
        attempt=None,
        failures=8,
        under_way=True,
    ),
    case(
        "the same failure again is no news, and Ready has the time of the next attempt",
        FAILING,
        progress(FAILS),
        key=replace(FIRST, turn=turn(8)),
        Ready="False Unavailable 502; attempt 9, next at 00:02:40Z",
        Unpacked="False UnpackFailed 502",
        attempt=NOW + 60,
        failures=9,
        events=[],
    ),
    case(
        "another refusal of the login is news",
        after(NEW_BUNDLE, progress(DENIED)),
        progress(replace(DENIED, detail=Words(words="403"))),
        key=replace(FIRST, turn=turn(1)),
        events=["Warning UnpackFailed"],
        failures=2,
    ),
    case(
        "content that comes at last",
        FAILING,
        progress(reached=FINISHED, content=content()),
        key=replace(FIRST, turn=turn(9)),
        events=["Normal Unpacked"],
        failures=0,
        attempt=None,
        phase="Unpacked",
    ),
    case(
        "unpacked content that cannot be fetched again",
        UNPACKED,
        progress(FAILS),
        Unpacked="False UnpackFailed",
        phase="Failing",
        url="",
    ),
    case(
        "other content than was unpacked",
        UNPACKED,
        progress(fact(Cause.CONTENT_CHANGED)),
        Unpacked="False ContentChanged",
        Ready="False ContentChanged",
        failures=1,
        attempt=NOW + 0.25,
    ),
    case(
        "a spec that is changed past the webhook leaves the content",
        UNPACKED,
        progress(fact(Cause.SPEC_CHANGED)),
        Unpacked="True UnpackSuccessful",
        Ready="False SpecChanged",
        Stalled="True SpecChanged",
        phase="Unpacked",
        url="https://core/b1.tgz",
        events=["Warning SpecChanged"],
    ),
    case(
        "and restored",
        CHANGED,
        progress(reached=FINISHED, content=content()),
        Ready="True UnpackSuccessful",
        events=["Normal UnpackSuccessful"],
    ),
]


@pytest.mark.parametrize("one", BUNDLES, ids=lambda one: one.title)
def test_a_case_is_concluded_as_it_says(one: Case) -> None:
    assert not problems(one)
