"""A real Prometheus as a process of this machine, which scrapes operators every second."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from e2e.cluster import binaries
from e2e.cluster.ports import free_ports
from e2e.servers.tied import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HOST = "127.0.0.1"
JOB = "core-metrics"  # as the Service of the chart is named


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of now; an error of the expression is a ValueError."""
        return list(self._ask("query", query=expression)["result"])

    def alerts(self) -> list[dict[str, Any]]:
        """The alerts that fire or are about to."""
        return list(self._ask("alerts")["alerts"])

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:  # noqa: S310 - our own process
                return bool(answer.status == 200)
        except OSError:
            return False

    def _ask(self, path: str, **parameters: str) -> dict[str, Any]:
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - see above
                return dict(json.load(answer)["data"])
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)["error"]) from error


@contextmanager
def running(folder: Path, targets: Sequence[str], rules: Sequence[dict[str, Any]] = ()) -> Iterator[Prometheus]:
    """`targets`: HOST:PORT of operators. `rules`: groups of rules, which are evaluated every second."""
    folder.mkdir(parents=True, exist_ok=True)
    address = f"{HOST}:{free_ports(['prometheus'], HOST)['prometheus']}"
    (folder / "rules.json").write_text(json.dumps({"groups": list(rules)}), encoding="utf-8")
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.json")],
        "scrape_configs": [{"job_name": JOB, "static_configs": [{"targets": list(targets)}]}],
    }
    file = folder / "prometheus.json"  # JSON is YAML
    file.write_text(json.dumps(configuration), encoding="utf-8")
    prometheus = Prometheus(url=f"http://{address}")
    command = [
        str(binaries.path("prometheus")),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    with serving(command, log=folder / "prometheus.log", answers=prometheus.is_ready):
        yield prometheus
