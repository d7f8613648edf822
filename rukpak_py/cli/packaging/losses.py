"""Losses when a generated file replaces one that a user has added to, in words for people.

Only additions count: a channel that changes is what the user asked for. Comments do not count.
"""

from collections.abc import Iterator

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.packaging.labels import Labels

_ANNOTATIONS = "annotations"


def lost_annotations(existing: bytes, labels: Labels) -> Iterator[str]:
    """Members of the file, and of its `annotations`. What cannot be parsed, or is no mapping, is lost as a whole."""
    try:
        found = yaml.load(existing)
    except ContentError:
        found = None
    if not isinstance(found, dict):
        yield from ["everything"] if existing.strip() else []
        return
    annotations = found.get(_ANNOTATIONS)
    if isinstance(annotations, dict):
        yield from (f"{key}: {value}" for key, value in annotations.items() if key not in labels.values())
    yield from (str(key) for key in found if key != _ANNOTATIONS)


def lost_lines(existing: bytes, generated: bytes, labels: Labels) -> Iterator[str]:
    """Lines of a Dockerfile, apart from those that are always generated and now say something else."""
    kept = set(generated.decode().splitlines())
    for line in existing.decode(errors="replace").splitlines():
        words = line.split()
        if line in kept or not words or words[0].startswith("#") or _is_generated(words, labels):
            continue
        yield " ".join(words)


def _is_generated(words: list[str], labels: Labels) -> bool:
    match words:
        case ["LABEL", label]:
            return label.partition("=")[0] in labels.values()
        case ["COPY", _, target]:
            return target in {"/manifests/", "/metadata/"}
        case _:
            return False
