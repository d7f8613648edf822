"""Findings as SARIF 2.1.0, which forges and editors read. Only the rules that were hit are described.

GitHub takes less than the standard allows: every result needs a file and a line, every rule its full description.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from rukpak_py.cli.reports.fingerprints import line_of
from rukpak_py.cli.reports.report import CommandReport, Described
from rukpak_py.core.findings import Finding, Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning"}
_NO_RULES: Final[Mapping[str, Described]] = MappingProxyType({})
_FINGERPRINT = "rukpakctlFinding/v1"
_ALL_RULES = "The page `docs/rules.md` of rukpak-py lists all rules."
_UNREADABLE = "unreadable"  # the notification for a bundle that could not be read


def document(
    reports: Sequence[CommandReport],
    *,
    version: str,
    rules: Mapping[str, Described] = _NO_RULES,
    rules_url: str = "",
) -> dict[str, Any]:
    """`rules_url`: of the page of all rules, for links; empty where it is served nowhere."""
    hit: dict[str, Finding] = {}
    for report in reports:
        for finding in report.findings:
            hit.setdefault(finding.rule, finding)
    ids = sorted(hit)
    failures = [_notification(report) for report in reports if report.failure]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rukpakctl",
                        "version": version,
                        "rules": [_rule(hit[rule], rules.get(rule), rules_url) for rule in ids],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not failures,
                        **({"toolExecutionNotifications": failures} if failures else {}),
                    }
                ],
                "results": [one for report in reports for one in _results(report, ids)],
            }
        ],
    }


def _rule(example: Finding, described: Described | None, rules_url: str) -> dict[str, Any]:
    """The same in every run, as long as the rule is known."""
    known = described or Described(title=example.message, hint=example.hint, severity=example.severity)
    return {
        "id": example.rule,
        **({"deprecatedIds": list(known.former_ids)} if known.former_ids else {}),
        **({"helpUri": _link(rules_url, example.rule)} if rules_url else {}),
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.title},
        "help": {"text": known.hint or known.title} | ({"markdown": _help(described)} if described else {}),
        "defaultConfiguration": {"level": _LEVELS[known.severity]},
    }


def _link(page: str, rule: str) -> str:
    """The page at the row of the rule: browsers scroll to the text. A dash would be part of their syntax."""
    return f"{page}#:~:text={quote(rule).replace('-', '%2D')}"


def _help(described: Described) -> str:
    """The page that code scanning shows for a rule."""
    former = f"Former ids: {', '.join(described.former_ids)}." if described.former_ids else ""
    return "\n\n".join(filter(None, (f"**{described.title}**", described.hint, former, _ALL_RULES)))


def _results(report: CommandReport, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Fingerprints are without lines, so that a result stays the same one when others are added above it."""
    seen: Counter[str] = Counter()
    for finding in report.findings:
        known = line_of(finding)
        seen[known] += 1
        digest = hashlib.sha256(f"{report.path}\n{known}\n{seen[known]}".encode(errors="surrogateescape")).hexdigest()
        fingerprints = {"partialFingerprints": {_FINGERPRINT: digest}}
        yield _result(report, finding, ids.index(finding.rule)) | fingerprints


def _result(report: CommandReport, finding: Finding, rule_index: int) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(report.file_of(finding))},
            "region": _region(report, finding),
        }
    }
    parts = [finding.location if report.is_of_archive else "", finding.path]
    logical = " ".join(part for part in parts if part)
    if logical:
        location["logicalLocations"] = [{"fullyQualifiedName": logical}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}\n{finding.hint}" if finding.hint else finding.message},
        "locations": [location],
    }


def _region(report: CommandReport, finding: Finding) -> dict[str, Any]:
    """Region of a finding: the first line where it is about a whole file or lies inside an archive."""
    if not finding.line or report.is_of_archive:
        return {"startLine": 1}
    return {"startLine": finding.line, **({"startColumn": finding.column} if finding.column else {})}


def _notification(report: CommandReport) -> dict[str, Any]:
    uri = _uri(report.file_of(Finding(rule="", severity=Severity.ERROR, message="")))
    return {
        "descriptor": {"id": _UNREADABLE},
        "level": "error",
        "message": {"text": report.failure},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}}}],
    }


def _uri(path: str) -> str:
    return quote(path, errors="surrogateescape")  # names of files may be any bytes
