"""Each alert fires when it should, says so in whole sentences, does not flap, and has a runbook."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster import binaries
from tests.unit.monitoring.alert_cases import CASES, AlertCase

ROOT = Path(__file__).parents[3]
RULES = ROOT / "charts/rukpak/files/alerts.yaml"
RUNBOOK = ROOT / "docs/alerts.md"

Rule = dict[str, Any]


def rules() -> dict[str, Rule]:
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return {rule["alert"]: rule for group in document["groups"] for rule in group["rules"]}


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(binaries.path("promtool")), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def expanded(text: str, labels: dict[str, str], value: str) -> str:
    text = re.sub(r"{{ \$labels\.(\w+) }}", lambda match: labels[match[1]], text)
    return re.sub(r"{{ \$value \| [^}]+ }}", value, text)


def as_a_test(case: AlertCase, rule: Rule) -> dict[str, Any]:
    firing = [
        {
            "eval_time": f"{minute}m",
            "alertname": case.alert,
            "exp_alerts": [
                {
                    "exp_labels": {**labels, **rule["labels"]},
                    "exp_annotations": {
                        name: expanded(text, labels, case.value) for name, text in rule["annotations"].items()
                    },
                }
            ],
        }
        for minute, labels in case.fires.items()
    ]
    silent = [{"eval_time": f"{minute}m", "alertname": case.alert, "exp_alerts": []} for minute in case.silent]
    series = [{"series": name, "values": values.strip()} for name, values in case.series.items()]
    return {"name": case.alert, "interval": "1m", "input_series": series, "alert_rule_test": [*firing, *silent]}


def test_rules_are_valid() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire_for_what_they_are_about_and_for_nothing_else(tmp_path: Path) -> None:
    found = rules()
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [as_a_test(case, found[case.alert]) for case in CASES],
    }
    file = tmp_path / "alerts.test.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    done = promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_fired_by_a_case_and_silent_in_another_moment() -> None:
    assert {case.alert for case in CASES if case.fires} == set(rules())
    assert {case.alert for case in CASES if case.silent} == set(rules())


@pytest.mark.parametrize("name", rules())
def test_alerts_have_a_severity_and_texts(name: str) -> None:
    rule = rules()[name]
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"docs/alerts.md#{name.lower()}"
    for text in ("summary", "description"):
        assert re.fullmatch(r"[A-Z{].+\.", rule["annotations"][text])


def test_every_alert_has_its_section_and_every_section_its_alert() -> None:
    headings = re.findall(r"^### (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == list(rules())
