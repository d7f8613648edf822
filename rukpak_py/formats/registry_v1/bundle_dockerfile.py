"""The Dockerfile of a bundle: made from its labels, and the labels read from one that is there.

Without further labels and tests, the bytes are those of `opm alpha bundle generate`: labels in an order of their own,
an empty line behind them only when the last is the default channel. Catalogs and pipelines choose bundles by labels, so
those that another tool wrote are read and kept. Only the last stage of a Dockerfile makes the image. A label with a
variable has no value before a build: it is named and left out.
"""

import re
import shlex
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Final

from rukpak_py.formats.registry_v1.packaging import MANIFESTS_PATH, METADATA_PATH, OWN_KEYS, Labels, check_line

_PLAIN_VALUE: Final = re.compile(r"[\w.,:/@+=~-]+", re.ASCII)
_MARKED: Final = re.compile(r'["\\$]')
_DOLLAR: Final = "\ue000"  # for private use: in no real label
TESTS: Final = "tests/scorecard/"


@dataclass(frozen=True, kw_only=True)
class Places:
    """Paths in the image's build context. `tests`: where they are, and where they go; empty without tests."""

    manifests: str
    metadata: str
    tests: tuple[str, str] | None = None

    @property
    def copies(self) -> dict[str, str]:
        """Sources by the directories of the image."""
        tests = {self.tests[1]: self.tests[0]} if self.tests else {}
        return {MANIFESTS_PATH: self.manifests, METADATA_PATH: self.metadata, **tests}


def dockerfile(labels: Labels, places: Places, *, base_image: str) -> bytes:
    check_line(base_image, "base image")
    for source in places.copies.values():
        check_line(source, "directory")
    lines = [f"FROM {base_image}", ""]
    lines += [f"LABEL {key}={value}" for key, value in labels.own().items()]
    lines += [f"LABEL {_word(key)}={_word(value)}" for key, value in labels.others.items()]
    lines += [""] if labels.default_channel or labels.others else []
    lines += [f"COPY {source} /{target}" for target, source in places.copies.items()]
    return "".join(f"{line}\n" for line in lines).encode()


def _word(value: str) -> str:
    check_line(value, "annotation")
    return value if _PLAIN_VALUE.fullmatch(value) else '"' + _MARKED.sub(r"\\\g<0>", value) + '"'


@dataclass(frozen=True, kw_only=True)
class FoundDockerfile:
    """One that is there. `others`: all instructions beside those that are generated, as they were written."""

    labels: dict[str, str]
    copies: dict[str, str]  # sources by the directories of a bundle's image, both without a slash at the end
    others: tuple[str, ...]

    def is_of(self, places: Places) -> bool:
        return self.copies.get(_clean(MANIFESTS_PATH)) == places.manifests


def read_dockerfile(data: bytes) -> FoundDockerfile:
    labels: dict[str, str] = {}
    copies: dict[str, str] = {}
    others: list[str] = []
    copied = {_clean(path) for path in (MANIFESTS_PATH, METADATA_PATH, TESTS)}
    for instruction in _instructions(data.decode(errors="replace")):
        words = instruction.split()
        match [words[0].upper(), *words[1:]]:
            case ["FROM", *rest]:
                labels, copies, others = {}, {}, []
                if rest != ["scratch"]:
                    others.append(instruction)
            case ["LABEL", *_]:
                found = _labels(instruction[len("LABEL") :])
                labels |= found
                if not found:
                    others.append(instruction)
            case ["COPY", source, target] if _clean(target) in copied:
                copies[_clean(target)] = _clean(source)
            case _:
                others.append(instruction)
    return FoundDockerfile(labels=labels, copies=copies, others=tuple(others))


def _clean(path: str) -> str:
    return path.strip("/").removeprefix("./").rstrip("/") or "."


def _instructions(text: str) -> Iterator[str]:
    """Each in one line, without comments; a backslash at the end of a line joins the next."""
    parts: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        parts.append(stripped.removesuffix("\\").strip())
        if not stripped.endswith("\\"):
            yield " ".join(filter(None, parts))
            parts = []
    if any(parts):
        yield " ".join(filter(None, parts))


def _labels(text: str) -> dict[str, str]:
    """`KEY=VALUE …`, or `KEY VALUE` of old; nothing where it cannot be read, or has variables."""
    text = text.replace("\\$", _DOLLAR)  # which a shell keeps with its backslash
    if "$" in text:
        return {}
    try:
        words = [word.replace(_DOLLAR, "$") for word in shlex.split(text)]
    except ValueError:
        return {}
    if words and "=" not in words[0]:
        return {words[0]: " ".join(words[1:])} if len(words) > 1 else {}
    if not all("=" in word for word in words):
        return {}
    return {key: value for key, _, value in (word.partition("=") for word in words)}


def lost_lines(found: FoundDockerfile, labels: Labels, places: Places, base_image: str) -> Iterator[str]:
    """Instructions of a Dockerfile that the one in its place does not have. Changed values are no loss."""
    yield from (f"LABEL {key}={value}" for key, value in found.labels.items() if key not in labels.values())
    kept = {_clean(target) for target in places.copies}
    yield from (f"COPY {source} /{target}/" for target, source in found.copies.items() if target not in kept)
    yield from (one for one in found.others if one != f"FROM {base_image}")


def contradicted(found: FoundDockerfile, labels: Labels, *, but: Container[str] = ()) -> Iterator[str]:
    """Labels that the annotations contradict, for people; `but` these keys."""
    values = labels.values()
    for key, value in found.labels.items():
        if key in values and values[key] != value and key not in but:
            yield f"{key}={values[key]}, not {value}"


def with_labels(labels: Labels, found: FoundDockerfile) -> Labels:
    """Annotations with the labels beside them. An annotation wins."""
    more = {key: value for key, value in found.labels.items() if key not in OWN_KEYS and key not in labels.others}
    return labels.with_others({**labels.others, **more})
