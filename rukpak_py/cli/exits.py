"""The exit statuses, in one place; the help of every command ends with its own."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    NO = 1  # the question was answered with no
    USAGE = 2  # click's own
    FAILED = 3
    DEFECT = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


def epilog(*, no: str = "", failed: str = "", others: str = "") -> str:
    """The end of a command's help: only what this command can give, and what it means there."""
    statuses = [(Exit.OK, "success"), (Exit.NO, no), (Exit.USAGE, "wrong usage"), (Exit.FAILED, failed)]
    return f"Exit status: {'; '.join(f'{status.value} {meaning}' for status, meaning in statuses if meaning)}{others}."
