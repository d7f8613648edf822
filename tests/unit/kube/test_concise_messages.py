"""A refused body is told by field and cause, as the server spells them in its causes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.kube.errors import Cause, ErrorAnswer, InvalidError
from rukpak_py.kube.status_errors import (
    CAUSE_CHARACTERS,
    MESSAGE_CHARACTERS,
    MOST_CAUSES,
    concise_message,
    error_of,
    is_immutable_change,
)
from tests.hostile.texts import FIXED, Hostile
from tests.unit.kube.test_refusals_are_understood import status

POD_TEMPLATE = (
    'Invalid value: {"labels":{"app":"a: {"},"Spec":{"Volumes":null,"Containers":[{"Name":"c","Args":null}]}}: '
    "field is immutable"
)
GO_DUMP = (
    'Invalid value: core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"}"}, Spec:(*core.PodSpec)(nil)}: '
    "field is immutable"
)
PVC = "Forbidden: spec is immutable after creation except resources.requests for bound claims"
NAME = "a lowercase RFC 1123 subdomain must consist of … (e.g. 'example.com', regex used is '[a-z0-9]([-a-z0-9]*)?')"
CAUSES: list[tuple[str, str, str, bool]] = [
    (
        "spec.selector",
        'Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
        "spec.selector: field is immutable",
        True,
    ),
    ("spec.template", POD_TEMPLATE, "spec.template: field is immutable", True),
    (
        "spec.template",
        GO_DUMP,
        "spec.template: field is immutable",
        True,
    ),
    (
        "roleRef",
        'Invalid value: {"APIGroup":"g","Kind":"Role","Name":"b"}: cannot change roleRef',
        "roleRef: cannot change roleRef",
        True,
    ),
    (
        "spec.clusterIPs[0]",
        'Invalid value: ["None"]: may not change once set',
        "spec.clusterIPs[0]: may not change once set",
        True,
    ),
    (
        "spec.clusterIPs[0]",
        'Invalid value: []string{"None"}: may not change once set',
        "spec.clusterIPs[0]: may not change once set",
        True,
    ),
    ("spec.attachRequired", "Invalid value: true: field is immutable", "spec.attachRequired: field is immutable", True),
    ("spec.nodeName", 'Invalid value: "a: b": field is immutable', "spec.nodeName: field is immutable", True),
    (
        "provisioner",
        "Forbidden: updates to provisioner are forbidden.",
        "provisioner: Forbidden: updates to provisioner are forbidden.",
        True,
    ),
    (
        "spec",
        "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        True,
    ),
    (
        "spec",
        f'{PVC}\n@@ -1,6 +1,6 @@\n {{\n  "AccessModes": [\n-  "ReadWriteOnce"\n',
        f"spec: {PVC}",
        True,
    ),
    (
        "spec.replicas",
        "Invalid value: -1: must be greater than or equal to 0",
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        False,
    ),
    ("metadata.name", f'Invalid value: "A_b": {NAME}', f'metadata.name: Invalid value: "A_b": {NAME}', False),
    (
        "spec.storage",
        "Invalid value: 5Gi: must be more",
        "spec.storage: Invalid value: 5Gi: must be more",
        False,
    ),
    ("spec.ports", "Invalid value: []: must have one", "spec.ports: must have one", False),
    ("spec.text", f'Invalid value: "{"x" * 200}": is wrong', "spec.text: is wrong", False),
    ("spec.x", "Required value", "spec.x: Required value", False),
    (
        "spec.x",
        'Unsupported value: "a": supported values: "b"',
        'spec.x: Unsupported value: "a": supported values: "b"',
        False,
    ),
    ("<nil>", 'Invalid value: "": must validate one schema', 'Invalid value: "": must validate one schema', False),
    ("spec.x", 'Invalid value: "no end', 'spec.x: Invalid value: "no end', False),
    ("spec.x", "Invalid value: {never ends: field is wrong", "spec.x: field is wrong", False),
]


def refused(*causes: tuple[str, str]) -> InvalidError:
    sent = [{"reason": "FieldValueInvalid", "field": field, "message": message} for field, message in causes]
    error = error_of("apply Job a", 422, status(422, "Invalid", "the long text", name="a", causes=sent))
    assert isinstance(error, InvalidError)
    return error


@pytest.mark.parametrize(("field", "message", "expected", "immutable"), CAUSES)
def test_field_and_cause_without_the_dump(field: str, message: str, expected: str, *, immutable: bool) -> None:
    error = refused((field, message))
    assert concise_message(error) == expected
    assert is_immutable_change(error) is immutable


def test_several_causes_are_told_once_each_and_not_without_end() -> None:
    twice = ("spec.a", "Required value")
    assert concise_message(refused(twice, twice, ("spec.b", "Required value"))) == (
        "spec.a: Required value; spec.b: Required value"
    )
    many = [(f"spec.f{number}", "Required value") for number in range(8)]
    assert concise_message(refused(*many)).endswith("spec.f4: Required value; and 3 more")


def test_an_answer_without_causes_stays_as_it_is_in_one_line() -> None:
    denied = error_of("apply Pod a", 403, status(403, "Forbidden", "policy x:\n\n  - no latest tags\n"))
    assert concise_message(denied) == "policy x: - no latest tags"
    assert not is_immutable_change(denied)


def test_withheld_text_of_a_secret_stays_withheld() -> None:
    cause = {"reason": "FieldValueInvalid", "field": "type", "message": 'Invalid value: "x/y": field is immutable'}
    body = status(422, "Invalid", "Secret a is invalid: ...", name="a", causes=[cause])
    error = error_of("apply Secret a", 422, body, sensitive=True)
    assert concise_message(error) == error.message
    assert "x/y" not in concise_message(error)


@given(st.text(), st.text())
def test_no_text_is_too_odd(field: str, message: str) -> None:
    causes = [Cause(reason="FieldValueInvalid", field=field, message=message)]
    error = InvalidError(ErrorAnswer(subject="s", status=422, reason="Invalid", message="m", causes=causes))
    assert len(concise_message(error)) <= CAUSE_CHARACTERS
    assert "\n" not in concise_message(error)


REFUSALS = [
    Hostile.REFUSED_UPDATE,
    Hostile.REFUSED_FIELDS,
    Hostile.REFUSED_BRACKETS,
    Hostile.REFUSED_QUOTES,
    Hostile.REFUSED_MAPS,
]


@pytest.mark.parametrize("attack", REFUSALS)
def test_a_refusal_that_quotes_400_kilobytes_is_cut_before_anything_reads_it(attack: Hostile) -> None:
    quoted = FIXED[attack](400_000)
    causes = [{"reason": "FieldValueInvalid", "field": "metadata.labels", "message": f"{quoted}: field is immutable"}]
    causes += [{"reason": "FieldValueInvalid", "field": f"f{number}", "message": "m"} for number in range(2_000)]
    text = f"failed to create typed patch object (x): {quoted}"
    error = error_of("apply ConfigMap n/a", 422, status(422, "Invalid", text, causes=causes))

    assert len(error.message) <= MESSAGE_CHARACTERS
    assert len(error.causes) == MOST_CAUSES
    assert all(len(cause.message) <= MESSAGE_CHARACTERS for cause in error.causes)
    assert is_immutable_change(error)
    assert len(concise_message(error)) <= 2 * CAUSE_CHARACTERS
    assert concise_message(error).startswith("metadata.labels: ")


@pytest.mark.parametrize("attack", REFUSALS)
def test_a_long_cause_that_was_not_cut_is_read_in_time(attack: Hostile) -> None:
    """No message should get there; the patterns are linear all the same."""
    refusal = ErrorAnswer(subject="s", reason="Invalid", causes=[Cause(field="f", message=FIXED[attack](400_000))])

    assert len(concise_message(InvalidError(refusal))) <= CAUSE_CHARACTERS
