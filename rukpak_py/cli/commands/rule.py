"""`rukpakctl bundle rule`."""

import click

from rukpak_py.cli.linting.chosen_rules import no_rule
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, epilog, print_json, wrapped
from rukpak_py.cli.validation import described_rules
from rukpak_py.core.errors import ContentError


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
        raise ContentError(no_rule(name, list(rules)))
    described = rules[found]
    if output == "json":
        print_json(
            {"rule": found, "severity": described.severity, "title": described.title, "hint": described.hint}
            | {"formerIds": list(described.former_ids)}
        )
        return Exit.OK
    click.echo(f"{found}  {described.severity}")
    click.echo(wrapped(described.title, width=100, first="  ", indent=2))
    click.echo(wrapped(f"fix: {described.hint}", width=100, first="  ", indent=7))
    return Exit.OK
