"""The answer of `rukpakctl why`: the first failing thing, its way out, its Events, and the log of its container."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rukpak_py.cli.reports import events
from rukpak_py.cli.reports.columns import columns
from rukpak_py.cli.reports.keys import key_document
from rukpak_py.cli.reports.states import cell_of, colours_of
from rukpak_py.cli.terminal import Style, clean, wrapped
from rukpak_py.diagnosis.documentation import troubleshooting_page
from rukpak_py.diagnosis.logs import LOG_LINES, ContainerLog
from rukpak_py.diagnosis.model import Explanation, FailedContainer, State, UnreadPart

Json = dict[str, Any]
_INDENT = 2


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`log`: None: it was not asked for; a string: why it cannot be read."""

    name: str
    found: Explanation
    log: ContainerLog | str | None = None
    unread: tuple[UnreadPart, ...] = ()

    @property
    def is_well(self) -> bool:
        return self.found.state is State.READY


def lines_of(answer: Answer, style: Style, *, page: str = "", now: datetime | None = None) -> Iterator[str]:
    """`page`: URL of the troubleshooting page, where it is another than the published one."""
    found = answer.found
    state = style.paint(found.state.value, *colours_of(found.state))
    yield f"{style.paint(clean(answer.name), 'bold')} is {state}{f' ({clean(found.reason)})' if found.reason else ''}"
    yield _text(found.sentence, style)
    if answer.is_well and not found.cause:
        return
    if found.to_do:
        yield ""
        yield style.paint("What to do", "bold")
        yield _text(found.to_do, style)
        yield _text(f"See {link(found, page)}", style)
    yield from _others(found.others, style)
    if found.events:
        yield ""
        yield style.paint("Events", "bold")
        yield from events.lines_of(found.events, style, indent=_INDENT, now=now)
    yield from _log(answer, style)
    for one in answer.unread:
        yield _text(f"not read: {one.part}: {one.why}", style)


def table(answers: Iterable[Answer], style: Style) -> Iterator[str]:
    """A line for each."""
    rows = ((one.name, cell_of(one.found.state), one.found.reason, one.found.sentence) for one in answers)
    return columns(("NAME", "STATE", "REASON", "WHY"), rows, width=style.room, style=style, ends_in_prose=True)


def document(answer: Answer, *, page: str = "") -> Json:
    found = answer.found
    return {
        "name": answer.name,
        "ready": answer.is_well,
        "state": found.state.value,
        "reason": found.reason or None,
        "cause": found.cause or None,
        "object": key_document(found.about),
        "sentence": found.sentence,
        "toDo": found.to_do or None,
        "link": link(found, page) if found.to_do else None,
        "others": list(found.others),
        "container": _container_document(found.container),
        "events": [events.event_document(one) for one in found.events],
        "log": _log_document(answer.log),
        "unread": [{"part": one.part, "why": one.why} for one in answer.unread],
    }


def link(found: Explanation, page: str) -> str:
    return f"{troubleshooting_page(page)}#{found.anchor}"


def _text(text: str, style: Style) -> str:
    return wrapped(clean(text), width=style.width, first=" " * _INDENT, indent=_INDENT)


def _others(others: tuple[str, ...], style: Style) -> Iterator[str]:
    if others:
        yield ""
        yield style.paint("Also", "bold")
        yield from (wrapped(clean(one), width=style.width, first="  - ", indent=4) for one in others)


def _log(answer: Answer, style: Style) -> Iterator[str]:
    log = answer.log
    if log is None:
        return
    yield ""
    if isinstance(log, str):
        yield style.paint("Log", "bold")
        yield _text(log, style)
        return
    run = ", its previous run" if log.is_previous else ""
    yield style.paint(clean(f"Log of {_container(log.container)}{run}, last {LOG_LINES} lines"), "bold")
    yield from (f"{' ' * _INDENT}{clean(line)}" for line in log.lines or ["(empty)"])


def _container(one: FailedContainer) -> str:
    return f'container "{one.name}" of Pod {one.namespace}/{one.pod}'


def _container_document(one: FailedContainer | None) -> Json | None:
    if one is None:
        return None
    return {"namespace": one.namespace, "pod": one.pod, "name": one.name or None, "reason": one.reason}


def _log_document(log: ContainerLog | str | None) -> Json | None:
    if log is None:
        return None
    if isinstance(log, str):
        return {"error": log}
    return {**(_container_document(log.container) or {}), "previous": log.is_previous, "lines": list(log.lines)}
