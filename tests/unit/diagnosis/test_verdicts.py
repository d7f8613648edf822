"""Rows of the list: state by the conditions, the source without credentials, and the selection of rows."""

from typing import Any

import pytest

from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.diagnosis.model import DeploymentSummary, State
from rukpak_py.diagnosis.verdicts import selected, summary_of

IMAGE = {"type": "image", "image": {"ref": "registry.example.com/shop:v1"}}


def summary(
    name: str = "shop",
    *,
    ready: tuple[str, str] | None = ("True", "Succeeded"),
    stalled: bool = False,
    observed: int = 1,
    deleted: bool = False,
    source: dict[str, Any] = IMAGE,
) -> DeploymentSummary:
    since = {"lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": observed}
    conditions = []
    if ready is not None:
        conditions.append({"type": "Ready", "status": ready[0], "reason": ready[1], "message": "said", **since})
    if stalled:
        conditions.append({"type": "Stalled", "status": "True", "reason": "ContentError", "message": "said", **since})
    return summary_of(
        read_bundle_deployment(
            {
                "metadata": {
                    "name": name,
                    "generation": 1,
                    **({"deletionTimestamp": "2026-01-02T03:04:05Z"} if deleted else {}),
                },
                "spec": {
                    "provisionerClassName": "core-rukpak-io-plain",
                    "installNamespace": f"{name}-space",
                    "template": {"spec": {"provisionerClassName": "core-rukpak-io-plain", "source": source}},
                },
                "status": {"conditions": conditions, "observedGeneration": observed},
            }
        )
    )


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({}, State.READY),
        ({"ready": ("False", "InstallFailed")}, State.FAILED),
        ({"ready": ("False", "ContentError"), "stalled": True}, State.STALLED),
        ({"ready": ("Unknown", "Progressing")}, State.PROGRESSING),
        ({"ready": ("True", "Suspended")}, State.SUSPENDED),
        ({"ready": ("True", "Succeeded"), "observed": 0}, State.PROGRESSING),
        ({"ready": None}, State.UNKNOWN),
        ({"ready": ("Unknown", "Pending"), "observed": -1}, State.UNKNOWN),
        ({"deleted": True}, State.DELETING),
    ],
)
def test_state_follows_the_conditions(given: dict[str, Any], state: State) -> None:
    assert summary(**given).verdict.state is state


@pytest.mark.parametrize(
    ("source", "reference"),
    [
        (IMAGE, "registry.example.com/shop:v1"),
        (
            {"type": "git", "git": {"repository": "https://user:secret@example.com/a.git", "ref": {"branch": "main"}}},
            "https://example.com/a.git main",
        ),
        (
            {"type": "git", "git": {"repository": "git@example.com:a.git", "ref": {"tag": "v1"}}},
            "example.com:a.git v1",
        ),
        (
            {"type": "http", "http": {"url": "https://u:secret@example.com/a.tgz?token=secret#secret"}},
            "https://example.com/a.tgz",
        ),
        (
            {"type": "configMaps", "configMaps": [{"configMap": {"name": "one"}}, {"configMap": {"name": "two"}}]},
            "one, two",
        ),
        ({"type": "upload", "upload": {}}, ""),
    ],
)
def test_reference_has_no_credentials(source: dict[str, Any], reference: str) -> None:
    assert summary(source=source).reference == reference


def test_rows_match_all_that_is_given() -> None:
    rows = [summary("web"), summary("api", ready=("False", "InstallFailed")), summary("jobs")]
    assert [row.name for row in selected(rows)] == ["api", "jobs", "web"]
    assert [row.name for row in selected(rows, search="WE")] == ["web"]
    assert [row.name for row in selected(rows, states=[State.FAILED])] == ["api"]
    assert [row.name for row in selected(rows, namespace="jobs-space")] == ["jobs"]
    assert selected(rows, namespace="jobs-space", states=[State.FAILED]) == []
    assert selected(rows, class_name="core-rukpak-io-helm") == []
