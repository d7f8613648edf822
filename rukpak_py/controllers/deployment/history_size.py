"""How much of the history is recorded: 512 KiB in all, because the whole object has to fit into etcd.

Templates and options are what is large. The oldest installation loses both first, then the next one. What is installed
loses its template last, and keeps its options, whose values have a limit of their own: without them drift could not be
corrected once the spec asks for something else.
"""

import msgspec
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import Installation, InstallOutcome
from rukpak_py.api.install_options import with_config_digest
from rukpak_py.core.limits import KIB

HISTORY_BYTES = 512 * KIB

History = tuple[Installation, ...]


def within_limit(history: History, limit: int = HISTORY_BYTES) -> History:
    """`history`: the active one first."""
    for at in reversed(range(len(history))):
        if len(msgspec.json.encode(history)) <= limit:
            break
        history = (*history[:at], reduced(history[at], is_active=at == 0), *history[at + 1 :])
    return history


def reduced(entry: Installation, *, is_active: bool) -> Installation:
    """Without its template, and without its options unless it is active."""
    outcome = entry.outcome or InstallOutcome.HEALTHY  # tells it from an entry that never had a template
    return replace(entry, template=None, options=entry.options if is_active else None, outcome=outcome)


def minimal_history(history: History) -> History:
    """Without any template, and without values: those of what is installed stay known by their digest."""
    return tuple(_without_values(reduced(entry, is_active=at == 0)) for at, entry in enumerate(history))


def is_reduced(entry: Installation) -> bool:
    """An entry of the first release had no options, but a template."""
    return bool(entry.outcome) and entry.template is None


def reduced_text(history: History) -> str:
    """Which revisions lost what; empty: none did."""
    former = [str(entry.revision) for entry in reversed(history[1:]) if is_reduced(entry)]
    revisions = "revision" if len(former) == 1 else "revisions"
    parts = [f"templates and options of {revisions} {', '.join(former)}"] if former else []
    parts += [f"the template of revision {entry.revision}" for entry in history[:1] if is_reduced(entry)]
    return f"status.history has no room for {' and '.join(parts)}" if parts else ""


def _without_values(entry: Installation) -> Installation:
    return replace(entry, options=with_config_digest(entry.options)) if entry.options is not None else entry
