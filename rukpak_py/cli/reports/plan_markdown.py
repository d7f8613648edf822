"""The plan of an upgrade as Markdown, for a pull request.

Everything that comes from content stands in `<code>`, where no service makes links or mentions of it, and each
character that Markdown or HTML could read as its own is a character reference, which is never structure.
"""

import re
from collections.abc import Iterator

from rukpak_py.api.upgrades import Verdict
from rukpak_py.apply.upgrade_document import PlannedObject, UpgradeDocument
from rukpak_py.cli.reports import fields
from rukpak_py.cli.terminal import clean
from rukpak_py.diagnosis import planned

_PUNCTUATION = re.compile(r"[!-+.:-@\[-`{-~]")  # of ASCII, but for three characters that begin nothing in a line
_OPEN_UP_TO = 20  # objects that are shown without a click


def lines_of(plan: UpgradeDocument) -> Iterator[str]:
    yield f"### {_title(plan)}"
    yield ""
    if planned.is_empty(plan):
        yield f"{planned.NOTHING_TO_DO.capitalize()}."
        return
    yield "| | |"
    yield "| --- | --- |"
    for name, value in planned.summary(plan):
        is_unsafe = name == "Verdict" and plan.verdict != Verdict.SAFE
        yield f"| {name} | {f'**{code(value)}**' if is_unsafe else code(value)} |"
    for heading, lines, name in planned.sections(plan):
        yield ""
        yield f"#### {heading}"
        yield ""
        yield from (f"* {code(line)}" for line in lines)
        yield from _more(plan.left_out.get(name, 0))
    if plan.objects:
        yield from _objects(plan)


def _title(plan: UpgradeDocument) -> str:
    what, _, rest = planned.title(plan).partition(" of BundleDeployment ")
    return f"{what} of BundleDeployment {code(rest)}"


def _objects(plan: UpgradeDocument) -> Iterator[str]:
    yield ""
    yield f"<details{' open' if len(plan.objects) <= _OPEN_UP_TO else ''}><summary>Objects</summary>"
    yield ""
    yield "| | Object | Field | Old | New |"
    yield "| --- | --- | --- | --- | --- |"
    for one in plan.objects:
        yield from _rows(one)
    yield ""
    yield from _more(plan.left_out.get("objects", 0))
    yield "</details>"


def _rows(one: PlannedObject) -> Iterator[str]:
    sign, _, how = fields.sign_of(one.action)
    notes = [how] if how else []
    notes += planned.notes_of(one)
    notes += [f"and {one.left_out} more fields"] if one.left_out else []
    yield f"| {code(sign)} | {code(planned.object_title(one.object))} | {code('; '.join(notes))} | | |"
    for field in one.fields:
        old, new = field.old, field.new
        if field.secret:
            shown = planned.values_of(field)
            old, new = (shown[0] if old is not None else None, shown[-1] if new is not None else None)
        yield f"| | | {code(field.path)} | {code(old or '')} | {code(new or '')} |"


def _more(left_out: int) -> Iterator[str]:
    if left_out:
        yield f"* and {left_out} more"


def code(text: str) -> str:
    """Text of anybody, as it is, and never as structure. Empty: nothing."""
    found = _PUNCTUATION.sub(lambda match: f"&#{ord(match[0])};", clean(text))
    return f"<code>{found}</code>" if found else ""
