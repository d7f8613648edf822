"""What is wrong with YAML, twice: for people with line and column of the file, and in the exact words of Go.

Go's words (sigs.k8s.io/yaml, and apimachinery's decoder for streams) count lines within the document, from 0 or 1 by
kind of error, and leave out the first; programs compare them, people get the text of the error itself.
"""

from yaml.error import MarkedYAMLError
from yaml.scanner import ScannerError

from rukpak_py.core.errors import ContentError

_IN_STREAM = "error converting YAML to JSON: "


class YamlError(ContentError):
    def __init__(self, message: str, *, line: int = 0, column: int = 0, go_text: str = "") -> None:
        super().__init__(message)
        self.line = line  # of the file, from 1; 0 is unknown
        self.column = column
        self.go_text = go_text

    def in_stream(self, *, go_text: str | None = None) -> "YamlError":
        """The same, as it is told for a document of a stream."""
        return YamlError(
            f"{_IN_STREAM}{self}",
            line=self.line,
            column=self.column,
            go_text=f"{_IN_STREAM}{self.go_text}" if go_text is None else go_text,
        )


def located(problem: str, line: int, column: int, *, go_text: str, language: str = "yaml") -> YamlError:
    """An error at a line and a column from 0."""
    text = f"{language}: line {line + 1}, column {column + 1}: {problem}"
    return YamlError(text, line=line + 1, column=column + 1, go_text=go_text)


def go_text_of(error: MarkedYAMLError) -> str:
    """Go's text for what libyaml's scanner or parser refuses: the two share their code."""
    line = error.problem_mark.line if error.problem_mark is not None else 0
    if not line and error.context_mark is not None:
        line = error.context_mark.line
    if line and isinstance(error, ScannerError):
        line += 1
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"
