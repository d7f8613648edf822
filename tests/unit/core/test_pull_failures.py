"""The cause in the words of kubelets and container runtimes, which put the reference in front of it again and again."""

import pytest

from rukpak_py.api.conditions import BRIEF_CHARACTERS
from rukpak_py.core.pull_failures import cause_of_pull

REF = f"registry.example.com/{'team/' * 20}demo:v1"
RESOLVED = f'failed to pull and unpack image "{REF}": failed to resolve reference "{REF}": '
BACK_OFF = f'Back-off pulling image "{REF}"'


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (BACK_OFF, ""),
        ("", ""),
        ("not found", "not found"),
        (f"{BACK_OFF}: ErrImagePull: not found", "not found"),
        (f"rpc error: code = NotFound desc = {RESOLVED}{REF}: not found", "not found"),
        (f"{BACK_OFF}: ErrImagePull: {RESOLVED}{REF}: not found", "not found"),
        (
            f"rpc error: code = Unknown desc = {RESOLVED}pull access denied, repository does not exist",
            "pull access denied, repository does not exist",
        ),
        (
            f'{BACK_OFF}: ErrImagePull: {RESOLVED}failed to do request: Head "https://r/v2/": dial tcp: no such host',
            'Head "https://r/v2/": dial tcp: no such host',
        ),
        (
            "rpc error: code = Unknown desc = Error response from daemon: manifest unknown",
            "manifest unknown",
        ),
        (
            f"initializing source docker://{REF}: manifest unknown",
            f"initializing source docker://{REF}: manifest unknown",
        ),
        ('Back-off pulling image "never closed', 'Back-off pulling image "never closed'),
    ],
)
def test_the_cause_stands_without_what_is_put_before_it(message: str, cause: str) -> None:
    assert cause_of_pull(message) == cause


def test_text_before_the_cause_does_not_fill_the_line() -> None:
    message = f"{BACK_OFF}: ErrImagePull: rpc error: code = NotFound desc = {RESOLVED}{REF}: not found"
    assert "not found" not in message[:BRIEF_CHARACTERS]
    assert cause_of_pull(message) == "not found"


@pytest.mark.parametrize("part", ["x", "ErrImagePull: ", 'Back-off pulling image "', BACK_OFF])
def test_a_long_text_is_cut_before_it_is_read(part: str) -> None:
    assert len(cause_of_pull(part * 100_000)) < 5000
