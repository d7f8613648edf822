"""Errors of YAML and JSON, with line and column of the file."""

from rukpak_py.core.errors import ContentError

_SHOWN = 200  # characters of a problem, which may quote the file


class YamlError(ContentError):
    """`line` and `column` are those of the file, from 1; 0 is unknown. `language` is `yaml` or `json`."""

    def __init__(self, problem: str, *, line: int = 0, column: int = 0, language: str = "yaml") -> None:
        super().__init__(problem[:_SHOWN])
        self.line = line
        self.column = column
        self.language = language

    @property
    def problem(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{self.language}: {where}{self.problem}"
