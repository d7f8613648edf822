"""`rukpakctl bundle rule`."""

import sys
from collections.abc import Iterator

import click

from rukpak_py.cli.linting.chosen_rules import no_rule
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.reports.report import Described
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines, wrapped
from rukpak_py.cli.validation import described_rules
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Profile
from rukpak_py.core.text import named

_WIDTH = 100  # where the output is no terminal


@click.command(epilog=epilog(failed="there is no such rule"))
@click.argument("name", metavar="ID")
@output_option("text", "json")
def rule(*, name: str, output: str) -> int:
    """Explain a rule of `validate`: what it asks for, and how to fix what it finds.

    ID is that of a finding, as RV1-210. A former id leads to the rule that tells the same now.
    """
    rules = described_rules()
    former = {old: new for new, one in rules.items() for old in one.former_ids}
    found = former.get(name.upper(), name.upper())
    if found not in rules:
        several = [one for one in sorted(rules) if found and one.startswith(found)]
        raise ContentError(f"several rules begin with {name}: {named(several)}" if several else no_rule(name, [*rules]))
    described = rules[found]
    if output == "json":
        print_json(
            {"rule": found, "severity": described.severity, "title": described.title, "hint": described.hint}
            | {"formerIds": list(described.former_ids), "origin": described.origin}
            | {"profile": described.profile or None, "severities": _severities(described)}
        )
    else:
        print_lines(_lines_of(found, described, Style(sys.stdout, piped=_WIDTH).width))
    return Exit.OK


def _lines_of(found: str, described: Described, width: int) -> Iterator[str]:
    severities = _severities(described)
    further = [f"{severity} with --profile {profile}" for profile, severity in severities.items()][1:]
    asked = [f"asked for by --profile {described.profile}"] if described.profile else []
    yield f"{found}  {', '.join([severities[Profile.DEFAULT], *further, *asked])}"
    yield wrapped(described.title, width=width, first="  ", indent=2)
    yield wrapped(f"fix: {described.hint}", width=width, first="  ", indent=7)
    yield wrapped(f"origin: {described.origin}", width=width, first="  ", indent=7)
    if described.former_ids:
        yield f"  former ids: {', '.join(described.former_ids)}"


def _severities(described: Described) -> dict[str, str]:
    """Severities by profile; that of `opm` only where it is another one."""
    if described.may_be_error:
        return {Profile.DEFAULT: f"{described.severity} or error"}
    match described.error_only_in:
        case Profile.OPM:
            return {Profile.DEFAULT: "warning", Profile.OPM: "error"}
        case Profile.DEFAULT:
            return {Profile.DEFAULT: "error", Profile.OPM: "warning"}
        case _:
            return {Profile.DEFAULT: described.severity}
