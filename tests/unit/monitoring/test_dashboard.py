"""Queries of the dashboard and of the alerts name metrics and labels that the operator has."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.metrics import DeclaredMetric, declared

FILES = Path(__file__).parents[3] / "charts/rukpak/files"
METRICS: dict[str, DeclaredMetric] = {one.name.removesuffix("_total"): one for one in declared()}
OF_THE_CLIENT = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
OF_EACH_SCRAPE = {"job", "instance"}
METRIC = re.compile(r"\b(?:rukpak|rest_client|process)_\w+")
LABELS = re.compile(r"\b(?:by|on|group_left) \(([^)]*)\)|[{,] ?(\w+)(?:=~|!=|!~|=)\"|{{ ?(?:\$labels\.)?(\w+) ?}}")


def family(series: str) -> str:
    return re.sub(r"_(total|count|sum|bucket)$", "", series)


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    return found


def queries() -> dict[str, str]:
    """Expressions and the texts that use their labels, by where they stand."""
    found = {
        f"{panel['id']} {target['refId']}": f"{target['expr']} {target['legendFormat']}"
        for panel in panels()
        for target in panel.get("targets", ())
    }
    groups = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        found[rule["alert"]] = " ".join([rule["expr"], *rule["annotations"].values()])
    return found


@pytest.mark.parametrize("query", queries().values(), ids=queries())
def test_queries_name_what_is_exported(query: str) -> None:
    names = set(METRIC.findall(query)) - OF_THE_CLIENT
    series = set(map(family, names))
    assert series <= set(METRICS)
    for name in names:
        metric = METRICS[family(name)]
        suffix = name.removeprefix(metric.name.removesuffix("_total"))
        assert suffix in {"counter": {"_total"}, "gauge": {""}, "histogram": {"_count", "_sum", "_bucket"}}[metric.type]
    known = {label for one in series for label in METRICS[one].labels} | OF_EACH_SCRAPE
    used = {label.strip() for found in LABELS.findall(query) for label in ",".join(found).split(",")} - {"", "le"}
    assert used <= known


def test_every_metric_of_objects_and_results_is_shown() -> None:
    shown = {
        re.sub(r"_(total|count|sum|bucket)$", "", name) for text in queries().values() for name in METRIC.findall(text)
    }
    hidden = {
        "rukpak_content_forwarded_connections",
        "rukpak_resources_left_out",
        "rukpak_server_connections_ended",
        "rukpak_store_files",
    }
    assert set(METRICS) - shown == hidden


def test_panels_have_a_title_a_description_and_a_place_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    ids = [panel["id"] for panel in panels()]
    assert len(set(ids)) == len(ids)
    for panel in panels():
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["description"].endswith(".")
            assert panel["datasource"]["uid"] == "${datasource}"
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken
        taken |= cells
