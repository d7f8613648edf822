"""What is wrong with YAML, twice: for people with line and column of the file, and in the exact words of Go.

Go's words (sigs.k8s.io/yaml, and apimachinery's decoder for streams) count lines within the document, from 0 or 1 by
kind of error, and leave out the first; programs compare them, people get the text of the error itself.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from yaml.error import MarkedYAMLError
from yaml.scanner import ScannerError

from rukpak_py.core.errors import ContentError

# Some of Go's texts cost another pass over the document, so they wait until somebody asks.
GoText: TypeAlias = str | Callable[[], str]

_SHOWN = 200  # characters of a problem, which may quote the file
_IN_STREAM = "error converting YAML to JSON: "


class YamlError(ContentError):
    """`line` and `column` are those of the file, from 1; 0 is unknown."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0, go_text: GoText = "") -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self._go_text = go_text

    @property
    def go_text(self) -> str:
        if not isinstance(self._go_text, str):
            self._go_text = self._go_text()
        return self._go_text

    def in_stream(self, *, go_text: str | None = None) -> "YamlError":
        """The same, as it is told for a document of a stream."""
        return YamlError(
            f"{_IN_STREAM}{self}",
            line=self.line,
            column=self.column,
            go_text=go_text or (lambda: f"{_IN_STREAM}{self.go_text}"),
        )

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Between processes only texts travel."""
        self._go_text = self.go_text
        return super().__reduce__()


def located(problem: str, line: int, column: int, *, go_text: GoText, language: str = "yaml") -> YamlError:
    """An error at a line and a column from 0."""
    text = f"{language}: line {line + 1}, column {column + 1}: {problem[:_SHOWN]}"
    return YamlError(text, line=line + 1, column=column + 1, go_text=go_text)


def go_text_of(error: MarkedYAMLError) -> str:
    """Go's text for what libyaml's scanner or parser refuses: the two share their code."""
    line = error.problem_mark.line if error.problem_mark is not None else 0
    if not line and error.context_mark is not None:
        line = error.context_mark.line
    if line and isinstance(error, ScannerError):
        line += 1
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"
