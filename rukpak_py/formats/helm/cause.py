r"""The cause of helm's error first.

helm begins with a headline, or with the template that called the one that failed, and says the cause last, often on
another line: conditions and Events show the first line alone. What is rearranged is helm's own printed form; a text of
another form stays as it is, and nothing else depends on it.

    values don't meet the specifications ...:\nshop:\n- at '/a': got string   ->  values: shop: at '/a': got string
    execution error at (shop/templates/a.yaml:5:4): \nPASSWORDS ERROR: ...    ->  shop/templates/a.yaml:5: PASSWORDS ...
    template: A:1:6: executing "A" at <X>: error calling include: template: B:2:10: executing "b" at <Y>: why
                                                                              ->  B:2: at <Y>: why, then the whole
"""

import re
from collections.abc import Iterator
from typing import Final

_SCHEMA: Final = "values don't meet the specifications of the schema(s) in the following chart(s):"
_AT_THE_ROOT: Final = ("(root): ", "at '': ")
_RAISED: Final = re.compile(r"execution error at \(([^()\n]{1,500}?):\d{1,9}\): ")  # fail and required
_UNPARSED: Final = re.compile(r"parse error at \(([^()\n]{1,500})\): ")
# Go shortens the expression to twenty characters.
_TEMPLATE: Final = "template: "
_CALL: Final = re.compile(  # tried where one begins, not searched for: a search would read long names again and again
    r'template: ([^\n":]{1,500}+:\d{1,9}+):\d{1,9}+: executing "[^"\n]{0,500}+" at (<[^\n]{0,90}?>): '
)
_BY_TPL: Final = "gotpl:"  # a template that is made of a value: the one that called `tpl` is where to look
_FUNCTION: Final = re.compile(r"error calling (?:fail|required): ")


def cause_first(said: str) -> str:
    """Put the cause on the first line of helm's error, without `Error: `."""
    if said.startswith(_SCHEMA):
        return _of_values(said.removeprefix(_SCHEMA).strip()) or said
    if raised := _RAISED.match(said):
        return f"{raised[1]}: {said[raised.end() :].strip()}"
    if unparsed := _UNPARSED.match(said):
        return f"{unparsed[1]}: parse error: {said[unparsed.end() :].strip()}"
    calls = [call for at in _beginnings(said) if (call := _CALL.match(said, at))]
    if not calls or calls[0].start() != 0:
        return said
    last = calls[-1]
    of_files = [call for call in calls if not call[1].startswith(_BY_TPL)]
    place = (of_files or calls)[-1][1]
    why = _FUNCTION.sub("", said[last.end() :], count=1).strip()
    first = f"{place}: at {last[2]}: {why}"
    return first if len(calls) == 1 else f"{first}\n{said}"


def _of_values(lines: str) -> str:
    """A line for each chart, then one for each of its problems; both libraries that helm has had for schemas."""
    charts: list[str] = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        if not charts or (line.endswith(":") and not line.startswith("- ")):
            charts.append(line)
            continue
        problem = line.removeprefix("- ")
        for root in _AT_THE_ROOT:
            problem = problem.removeprefix(root)
        charts[-1] += f"{'' if charts[-1].endswith(':') else ';'} {problem}"
    return f"values: {'; '.join(charts)}" if charts else ""


def _beginnings(said: str) -> Iterator[int]:
    at = said.find(_TEMPLATE)
    while at >= 0:
        yield at
        at = said.find(_TEMPLATE, at + len(_TEMPLATE))
