"""Rules for rights that an API server grants, and that mean nothing: no request ever asks for them.

Verbs, groups and names are free strings to a cluster.
"""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Fix, Severity
from rukpak_py.formats.json_fields import Json, texts
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.rules import Family, Problem, slip_of

FAMILY: Family[Judged] = Family(title="Rights that mean nothing", origin="rukpak-py")

_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_RARE_VERBS: Final = frozenset(
    {"*", "approve", "attest", "bind", "escalate", "impersonate", "sign", "use", "post", "put", "head", "options"}
)
_SEPARATORS: Final = (",", " ")
_CORE: Final = frozenset({"core", "v1"})


@FAMILY.rule(
    "OBJ-016",
    title="Verbs of permissions are spelled as the API spells them",
    hint=f"Write one of {', '.join(_VERBS)}, in lower case, one to an entry.",
    severity=Severity.WARNING,
)
def verbs_are_known(judged: Judged) -> Iterator[Problem]:
    """APIs have verbs of their own: only a slip of a usual one is told."""
    for granting in judged.rights:
        rule, origin = granting.rule, granting.origin
        for index, verb in enumerate(texts(rule, "verbs")):
            if verb in _VERBS or verb in _RARE_VERBS:
                continue
            several = [one for one in _SEPARATORS if one in verb]
            near = slip_of(verb.strip().lower(), _VERBS, likeness=0.8)
            if near or several:
                hint = None if several or not near else f"Did you mean `{near}` instead of `{verb}`?"
                message = f"'{verb[:80]}' is not a verb of Kubernetes"
                fix = Fix(text=near) if hint is not None else None
                yield origin.problem(message, "verbs", index, hint=hint, fix=fix)


@FAMILY.rule(
    "OBJ-017",
    title="apiGroups of permissions are groups, without a version",
    hint='Write the group alone, as `apps` for apps/v1; the core group is `""`.',
    severity=Severity.WARNING,
)
def groups_have_no_version(judged: Judged) -> Iterator[Problem]:
    for granting in judged.rights:
        rule, origin = granting.rule, granting.origin
        for index, group in enumerate(texts(rule, "apiGroups")):
            if "/" in group or group in _CORE:
                right = group.partition("/")[0] if "/" in group and not group.startswith("core/") else ""
                message = f"'{group[:80]}' is not an API group: the rule grants nothing in it"
                hint = f"Write `{right}`." if right else 'Write `""`.'
                yield origin.problem(message, "apiGroups", index, hint=hint, fix=Fix(text=right))


@FAMILY.rule(
    "OBJ-018",
    title="The right to create is not limited to names",
    hint="Give `create` in a rule of its own, without resourceNames. A request to create has no name that could be "
    "compared; only server-side apply has one.",
    severity=Severity.WARNING,
)
def creating_has_no_names(judged: Judged) -> Iterator[Problem]:
    for granting in judged.rights:
        rule, origin = granting.rule, granting.origin
        names, resources = texts(rule, "resourceNames"), _named_by_requests(rule)
        if names and resources and "create" in texts(rule, "verbs"):
            message = (
                f"`create` of {', '.join(resources)[:200]} is limited to resourceNames, and so granted to no request"
            )
            yield origin.problem(message, "resourceNames")


def _named_by_requests(rule: Json) -> list[str]:
    """Resources whose creation has no name. That of a sub-resource, as pods/exec, has one."""
    return [resource for resource in texts(rule, "resources") if "/" not in resource]
