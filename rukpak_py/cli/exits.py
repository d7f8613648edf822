"""What the exit status says, in one place; the help of every command ends with it."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    NO = 1  # the question was answered with no
    USAGE = 2  # click's own
    FAILED = 3
    DEFECT = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


EPILOG = (
    "Exit status: 0 fine; 1 findings of severity error, or differences with --exit-code; 2 wrong usage; "
    "3 a bundle cannot be read, rendered, written or pushed."
)
