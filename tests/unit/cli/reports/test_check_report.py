"""Results of a check are printed for people and for programs."""

from rukpak_py.cli.checks.results import Check, Section
from rukpak_py.cli.reports import check as report
from rukpak_py.cli.terminal import Style
from tests.unit.cli.streams import pipe

FINE = Check(Section.SERVER, "kubernetes-version").ok("Kubernetes v1.35.4")
DOUBTFUL = Check(Section.OPERATOR, "lease").warning("not checked: no right", "Ask.", "Lease a/b")
WRONG = Check(Section.OPERATOR, "crds").error("gone\x1b[2J", "Install it.", "CRD a")


def test_text_has_sections_and_a_summary() -> None:
    assert list(report.lines_of([FINE, DOUBTFUL, WRONG], Style(pipe()))) == [
        "API server",
        "  ok  Kubernetes v1.35.4",
        "",
        "Operator",
        "  warning  Lease a/b: not checked: no right",
        "      hint: Ask.",
        r"  error  CRD a: gone\u001b[2J",
        "      hint: Install it.",
        "",
        "1 error, 1 warning",
    ]


def test_nothing_wrong_is_said() -> None:
    assert list(report.lines_of([FINE], Style(pipe())))[-1] == "nothing is wrong"


def test_document_has_every_result() -> None:
    assert report.document([FINE, WRONG]) == {
        "results": [
            {
                "check": "kubernetes-version",
                "level": "ok",
                "section": "API server",
                "object": None,
                "message": "Kubernetes v1.35.4",
                "hint": None,
            },
            {
                "check": "crds",
                "level": "error",
                "section": "Operator",
                "object": "CRD a",
                "message": "gone\x1b[2J",
                "hint": "Install it.",
            },
        ],
        "errors": 1,
        "warnings": 0,
    }
