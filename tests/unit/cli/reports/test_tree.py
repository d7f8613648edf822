"""A deployment as a tree: unhealthy objects open by themselves, healthy ones are folded."""

from datetime import UTC, datetime

import pytest

from rukpak_py.cli.reports import tree as report
from rukpak_py.cli.terminal import Style
from rukpak_py.diagnosis.model import DeploymentView, State, UnreadPart
from tests.unit.cli.streams import pipe, terminal
from tests.unit.diagnosis.views import bundle, condition, deployment, thing, view, workload

CLAIM = "PVC is not Bound. phase: Pending"
NOW = datetime(2026, 1, 2, 3, 9, 5, tzinfo=UTC)
ADVICE = "Deployment.apps/shop/web: object InProgress: Available: 0/1; Pod shop/web-1: container failed; look at it"


def shop() -> DeploymentView:
    return view(
        deployment(condition("Ready", "Unknown", "Unhealthy", ADVICE)),
        bundles=(
            bundle(condition("Ready", "False", "ContentError", "invalid"), name="shop-2"),
            bundle(condition("Ready", "True", "UnpackSuccessful", "fine"), is_active=True, is_wanted=False),
        ),
        objects=(
            thing("ConfigMap", "a"),
            thing("ConfigMap", "b"),
            thing("PersistentVolumeClaim", "data", is_kept=True),
            thing("Service", "web"),
            workload(
                message="Available: 0/1",
                children=(thing("Pod", "web-1", State.FAILED, message="container failed"), thing("Pod", "web-2")),
                claims=(thing("PersistentVolumeClaim", "data-web-1", State.PROGRESSING, message=CLAIM),),
            ),
        ),
        unread=(UnreadPart(part="Secret objects", why="not allowed"),),
    )


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def test_unhealthy_objects_are_open_and_healthy_ones_are_folded() -> None:
    assert report.lines_of(shop(), Style(pipe()), now=NOW) == [
        "OBJECT                                       STATE        AGE",
        "BundleDeployment shop                        in progress  5m",
        f"│  Unhealthy: {ADVICE}",
        "├─ Bundle shop-2 (wanted)                    failed       5m",
        "│     ContentError: invalid",
        "├─ Bundle shop-1 (installed)                 ready        5m",
        "├─ Deployment.apps/shop/web                  in progress  5m",
        "│  │  Available: 0/1",
        "│  ├─ PersistentVolumeClaim shop/data-web-1  in progress  5m",
        f"│  │     {CLAIM}",
        "│  ├─ Pod shop/web-1                         failed       5m",
        "│  │     container failed",
        "│  └─ Pod shop/web-2                         ready        5m",
        "├─ PersistentVolumeClaim shop/data (kept)    ready        5m",
        "├─ ConfigMap: 2 objects                      ready        -",
        "├─ Service shop/web                          ready        5m",
        "└─ Secret objects                            not read     -",
        "      not allowed",
    ]


def test_everything_is_listed_when_asked_for() -> None:
    lines = report.lines_of(shop(), Style(pipe()), everything=True, now=NOW)
    assert [line.split()[1:3] for line in lines if "ConfigMap" in line] == [
        ["ConfigMap", "shop/a"],
        ["ConfigMap", "shop/b"],
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = report.lines_of(shop(), Style(terminal()), now=NOW)
    assert max(map(len, lines)) <= width
    told = " ".join(line.lstrip("│ ").strip() for line in lines)
    assert ADVICE in told


def test_document_has_every_part() -> None:
    document = report.document(shop())
    assert [one["name"] for one in document["bundles"]] == ["shop-2", "shop-1"]
    assert [(one["name"], one["installed"], one["wanted"]) for one in document["bundles"]] == [
        ("shop-2", False, True),
        ("shop-1", True, False),
    ]
    (web,) = (one for one in document["objects"] if one["kind"] == "Deployment")
    assert [pod["name"] for pod in web["pods"]] == ["web-1", "web-2"]
    assert [one["name"] for one in document["objects"] if one["kept"]] == ["data"]
    assert document["unread"] == [{"part": "Secret objects", "why": "not allowed"}]
