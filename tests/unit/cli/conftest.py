import pytest

from tests.unit.cli.running import CommandLine


@pytest.fixture
def rukpakctl(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)
