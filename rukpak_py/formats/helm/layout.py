"""Where the chart is in a bundle: at its root, or in the one directory that the root has; and its files.

The original decides by the root alone: exactly one entry, and that is a directory, is the chart; everything else is put
below a new directory. So the name of the directory says nothing.

`.helmignore` is what helm leaves out when it loads a chart from a directory, and never from an archive:

    ci/             only directories, with all that is in them
    *.bak           no slash: the name, wherever it is
    /notes.txt      from the root of the chart; so is a pattern with a slash inside
    !values.yaml    leaves out all that does not match
    # a comment

The first rule that fits decides, and one of helm's own is the last: hidden files of templates/. Rules are those of the
chart alone: a `.helmignore` of a subchart counts for nothing, and archives in charts/ stay whole.

Patterns are those of Go's `path.Match` (`core.go_patterns`).
"""

import re
from dataclasses import dataclass
from typing import Final

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.go_patterns import expression
from rukpak_py.core.go_text import SPACE
from rukpak_py.core.limits import KIB

ARCHIVE_ROOT: Final = "chart"
CHART: Final = "Chart.yaml"
_OF_BUNDLES: Final = ("manifests", "metadata")
IGNORE_FILE: Final = ".helmignore"
_HIDDEN_TEMPLATES: Final = "templates/.?*"
_MOST_BYTES: Final = 64 * KIB  # one line of helm's has no more
_MARK: Final = b"\xef\xbb\xbf"
_NEVER: Final = "(?!)"


def chart_root(tree: Tree) -> str:
    """The directory of the chart; empty for the root of the bundle."""
    names = tree.names_in("")
    return names[0] if len(names) == 1 and names[0] in tree.directories else ""


def has_chart(tree: Tree) -> bool:
    root = chart_root(tree)
    return root not in _OF_BUNDLES and (f"{root}/{CHART}" if root else CHART) in tree


def chart_of(tree: Tree) -> Tree:
    """The chart alone: paths begin at its root."""
    root = chart_root(tree)
    if not root:
        return tree
    prefix = f"{root}/"
    files = {path.removeprefix(prefix): tree[path] for path in tree}
    empty = (path.removeprefix(prefix) for path in tree.empty_directories if path != root)
    return Tree(files, frozenset(empty))


def archived(chart: Tree) -> Tree:
    """The chart as helm's archives have it: below one directory."""
    return Tree({f"{ARCHIVE_ROOT}/{path}": chart[path] for path in chart})


class IgnoreRuleError(ContentError):
    """In helm's words."""

    def __init__(self, text: str, *, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


def loaded_files(tree: Tree, *, is_directory: bool) -> Tree:
    """Files of the content's chart as helm has them after loading it. `is_directory`: the content is no archive.

    Raises IgnoreRuleError.
    """
    chart = chart_of(tree)
    if not is_directory:
        return chart
    rules = _rules_of(chart.get(IGNORE_FILE, b""))
    ignored: dict[str, bool] = {"": False}
    kept = {path: chart[path] for path in chart if not _is_ignored(path, rules, ignored)}
    return Tree(kept)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    is_negated: bool
    is_for_directories: bool
    is_for_names: bool

    @classmethod
    def read(cls, text: str) -> "_Rule":
        """ContentError for what helm refuses."""
        if "**" in text:
            raise ContentError("double-star (**) syntax is not supported")
        expression(text)
        rule = text.removeprefix("!")
        place = rule.removesuffix("/")
        try:
            pattern = expression(place.lstrip("/"))
        except ContentError:  # the slash at the end was escaped; helm goes on with a rule that fits nothing
            pattern = _NEVER
        return cls(
            pattern=re.compile(pattern, re.DOTALL),
            is_negated=rule != text,
            is_for_directories=place != rule,
            is_for_names="/" not in place,
        )

    def ignores(self, path: str, *, is_directory: bool) -> bool:
        fits = self._fits(path) and (is_directory or not self.is_for_directories)
        return not fits if self.is_negated else fits

    def _fits(self, path: str) -> bool:
        return self.pattern.fullmatch(path.rpartition("/")[2] if self.is_for_names else path) is not None


def _is_ignored(path: str, rules: list[_Rule], directories: dict[str, bool]) -> bool:
    """`directories`: those that are known."""
    around = ""
    for part in path.split("/")[:-1]:
        outer, around = around, f"{around}/{part}" if around else part
        if around not in directories:
            directories[around] = directories[outer] or any(rule.ignores(around, is_directory=True) for rule in rules)
    return directories[around] or any(rule.ignores(path, is_directory=False) for rule in rules)


def _rules_of(data: bytes) -> list[_Rule]:
    if len(data) > _MOST_BYTES:
        raise IgnoreRuleError(f"{IGNORE_FILE} is larger than {_MOST_BYTES} bytes")
    rules: list[_Rule] = []
    for number, line in enumerate(data.removeprefix(_MARK).split(b"\n"), 1):
        text = line.decode(errors="surrogateescape").strip(SPACE)
        if not text or text.startswith("#"):
            continue
        try:
            rules.append(_Rule.read(text))
        except ContentError as error:
            raise IgnoreRuleError(str(error), line=number) from error
    return [*rules, _Rule.read(_HIDDEN_TEMPLATES)]
