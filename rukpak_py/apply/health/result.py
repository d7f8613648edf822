"""The result of a judgement."""

from dataclasses import dataclass
from enum import StrEnum


class HealthStatus(StrEnum):
    """The values are the words of the messages that users see."""

    CURRENT = "Current"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    TERMINATING = "Terminating"


@dataclass(frozen=True, slots=True)
class Health:
    status: HealthStatus
    message: str
    may_go: bool = False  # it has ended, and is deleted then without us: a Job with a time to live, a Pod
    cause: str = ""  # why it is not healthy, as the object itself says it
    pods: str = ""  # label selector of the pods that may know why

    @property
    def is_healthy(self) -> bool:
        return self.status is HealthStatus.CURRENT


CURRENT = Health(HealthStatus.CURRENT, "Resource is current")
ENDED = Health(HealthStatus.CURRENT, "Resource is current", may_go=True)


def in_progress(message: str) -> Health:
    return Health(HealthStatus.IN_PROGRESS, message)


def failed(message: str) -> Health:
    return Health(HealthStatus.FAILED, message)
