"""Gate: the account of the deployment has all permissions that the content needs.

It is asked before anything is looked at, about all permissions at once: one that is missing would else be found with
the object that needs it, one after the other, with half of the content in the cluster. What is installed is not asked
about: what its account may not correct is refused by name, and everything else is kept.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.installer import rules_by_scope
from rukpak_py.apply.permissions.manifests import name_for_missing, roles_for
from rukpak_py.apply.permissions.permission import Permission, rule_text, scope_text
from rukpak_py.apply.preflight.gate import Candidate, Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.core.errors import ContentError
from rukpak_py.core.text import counted, excerpt
from rukpak_py.kube.resources import SERVICE_ACCOUNTS

SHOWN_RULES = 20
SHOWN_NEW = 5
LONGEST_LINE = 200  # characters of a rule
LONGEST_RULE = 2_000  # characters; one with more names is left to the command
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingPermissions:
    """`new`: those that the installed content does not need. None: nothing is installed, or its needs are not known."""

    account: Account
    deployment: str
    missing: frozenset[Permission]
    new: frozenset[Permission] | None = None

    @property
    def brief(self) -> str:
        first, *others = _statements(self.missing)
        more = f", and {counted(len(others), 'more rule')}" if others else ""
        return f"{self._subject} that the bundle needs: {excerpt(first, LONGEST_LINE)}{more}; see {self._command}"

    @property
    def text(self) -> str:
        lines = [f"{self._subject} that the bundle needs."]
        if self.new is not None:
            lines += list(self._growth())
        roles, left = self._roles()
        lines.append(f"All that it needs: {self._command}. Review it, then pipe it to kubectl apply -f -")
        lines.append("What is missing, as roles to review and apply:" if not left else "Some of what is missing:")
        lines += roles
        if left:
            lines.append(f"# and {counted(left, 'more rule')}")
        return "\n".join(lines)

    @property
    def _subject(self) -> str:
        return f"ServiceAccount {self.account} lacks {counted(len(self.missing), 'permission')}"

    @property
    def _command(self) -> str:
        return f"rukpakctl permissions {self.deployment} -o yaml"

    def _growth(self) -> Iterator[str]:
        new = self.new or frozenset()
        if not new:
            yield "The installed version needs all of them, too."
            return
        statements = [excerpt(one, LONGEST_LINE) for one in _statements(new)]
        left = len(statements) - SHOWN_NEW
        more = f", and {counted(left, 'more rule')}" if left > 0 else ""
        number = "All" if new == self.missing else str(len(new))
        yield f"{number} of them are new with this version: {', '.join(statements[:SHOWN_NEW])}{more}."

    def _roles(self) -> tuple[list[str], int]:
        """The first rules as manifests, in lines, and how many are left out."""
        by_scope = rules_by_scope(self.missing)
        rules = [(scope, rule) for scope, listed in by_scope.items() for rule in listed]
        short = [(scope, rule) for scope, rule in rules if len(orjson.dumps(rule)) <= LONGEST_RULE]
        shown: dict[str, list[Json]] = {}
        for scope, rule in islice(short, SHOWN_RULES):
            shown.setdefault(scope, []).append(rule)
        name = name_for_missing(self.deployment, by_scope)
        lines = [line for one in roles_for(shown, name=name, account=self.account) for line in _yaml(one)]
        return lines, len(rules) - sum(map(len, shown.values()))


async def lacking_permissions(candidate: Candidate) -> Refusal | None:
    if candidate.is_installed:
        return None
    try:
        found = await candidate.missing_permissions()
    except ContentError as error:
        return Refusal(kind=FailureKind.CONTENT, message=str(error))
    if found is None:
        return None
    account = SERVICE_ACCOUNTS.key(*found.account)
    return Refusal(kind=FailureKind.PERMISSIONS, message=found.text, brief=found.brief, objects=(account,))


def _statements(permissions: Collection[Permission]) -> Iterator[str]:
    for scope, rules in rules_by_scope(permissions).items():
        for rule in rules:
            verbs, about = rule_text(rule)
            yield f"{verbs} {about} {scope_text(scope)}"


def _yaml(manifest: Json) -> Iterator[str]:
    """Compact YAML: JSON values, one rule a line."""
    yield "---"
    for field, value in manifest.items():
        if field == "rules":
            yield "rules:"
            yield from (f"- {orjson.dumps(rule).decode()}" for rule in value)
        else:
            yield f"{field}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
