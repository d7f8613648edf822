"""Results of checks, and what every fact may be instead of an answer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

Json = dict[str, Any]


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Section(StrEnum):
    SERVER = "API server"
    INSTALLING = "Installing"
    OPERATOR = "Operator"
    POLICIES = "Admission policies"
    RIGHTS = "Rights of the operator"
    WEBHOOK = "Webhook and certificates"
    DEPLOYMENTS = "BundleDeployments"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    section: Section
    level: Level
    check: str  # id, which programs can match
    object: str = ""  # that it is about; empty: the cluster
    message: str
    hint: str = ""  # what to do next


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """Something that could not be read, and the API server's reason."""

    why: str


Seen = Json | Unread | None  # None: it does not exist
Answer = bool | Unread  # of an access review


class Check(NamedTuple):
    """One check, by which its results are made."""

    section: Section
    id: str

    def ok(self, message: str, about: str = "") -> CheckResult:
        return CheckResult(section=self.section, level=Level.OK, check=self.id, object=about, message=message)

    def warning(self, message: str, hint: str, about: str = "") -> CheckResult:
        return CheckResult(
            section=self.section, level=Level.WARNING, check=self.id, object=about, message=message, hint=hint
        )

    def error(self, message: str, hint: str, about: str = "") -> CheckResult:
        return CheckResult(
            section=self.section, level=Level.ERROR, check=self.id, object=about, message=message, hint=hint
        )

    def unread(self, found: Unread, about: str = "") -> CheckResult:
        return self.warning(f"not checked: {found.why}", "Run the check as a user with this right.", about)


def told(problems: Iterable[CheckResult], fine: CheckResult) -> Iterator[CheckResult]:
    """The problems, or else that there is none."""
    problems = list(problems)
    yield from problems or [fine]
