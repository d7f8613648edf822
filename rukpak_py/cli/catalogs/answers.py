"""Answers of a catalog, or why it has none."""

from typing import TypeVar

from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.core.errors import ContentError

T = TypeVar("T")


class NoAnswerError(ContentError):
    """The catalog has no answer; the text says what to ask instead."""


def demand(answer: T | Refusal) -> T:
    """The answer; NoAnswerError for a refusal."""
    if isinstance(answer, Refusal):
        raise NoAnswerError(f"{answer.message}; {answer.remedy}" if answer.remedy else answer.message)
    return answer
