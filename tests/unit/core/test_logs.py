"""One record is one line that names its object; what content puts into a message stays inside it."""

import asyncio
import logging
import sys
from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core import logs
from rukpak_py.core.logs import JsonFormatter, LastingLog, TextFormatter, about, of_no_reconcile, one_reconcile

FORMATTERS: list[logging.Formatter] = [TextFormatter(), JsonFormatter()]
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))  # half surrogate pairs, too


def record(message: str, *, failure: BaseException | None = None) -> logging.LogRecord:
    exc_info = (type(failure), failure, failure.__traceback__) if failure is not None else None
    return logging.LogRecord("rukpak_py.test", logging.WARNING, "file", 1, "%s", (message,), exc_info)


def failed_with(text: str) -> BaseException:
    with pytest.raises(ValueError) as caught:
        raise ValueError(text)
    return caught.value


@given(message=ANY_TEXT)
def test_a_text_record_is_one_line(message: str) -> None:
    line = TextFormatter().format(record(message))
    assert len(line.splitlines()) == 1
    assert line.isprintable() or "\t" in line or not message.isprintable()
    assert "\x1b" not in line
    line.encode()


@given(message=ANY_TEXT)
def test_a_json_record_is_one_line_of_json(message: str) -> None:
    line = JsonFormatter().format(record(message))
    assert "\n" not in line
    decoded = orjson.loads(line)
    if message.isprintable():
        assert decoded["message"] == message
    assert (decoded["level"], decoded["logger"]) == ("warning", "rukpak_py.test")


def test_ordinary_text_is_written_as_it_is() -> None:
    message = 'ConfigMap shop/settings: "é" ☃\tbelongs to nobody'
    assert TextFormatter().format(record(message)).endswith(f"WARNING rukpak_py.test: {message}")


@given(text=ANY_TEXT)
def test_a_traceback_cannot_forge_a_line(text: str) -> None:
    """Every line but the first is indented, so none of them looks like a record."""
    first, *rest = TextFormatter().format(record("failed", failure=failed_with(text))).split("\n")
    assert first.endswith("failed")
    assert rest
    assert all(line.startswith("    ") for line in rest)


def test_a_json_record_holds_its_traceback() -> None:
    decoded = orjson.loads(JsonFormatter().format(record("failed", failure=failed_with("why"))))
    assert "ValueError: why" in decoded["error"]


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_a_record_without_a_failure_has_none(formatter: logging.Formatter) -> None:
    empty = logging.LogRecord("n", logging.INFO, "f", 1, "m", (), (None, None, None))
    assert "NoneType" not in formatter.format(empty)
    assert "error" not in formatter.format(empty)


def test_a_line_names_what_it_is_about() -> None:
    with about("Bundle", "b"):
        assert TextFormatter().format(record("m")).endswith("Bundle b: m")
        decoded = orjson.loads(JsonFormatter().format(record("m")))
        assert (decoded["kind"], decoded["name"]) == ("Bundle", "b")
    assert TextFormatter().format(record("m")).endswith("rukpak_py.test: m")
    assert "kind" not in orjson.loads(JsonFormatter().format(record("m")))


async def test_two_tasks_are_about_two_things() -> None:
    meeting = asyncio.Barrier(2)

    async def work(name: str) -> str:
        with about("Bundle", name):
            await meeting.wait()
            return TextFormatter().format(record("m"))

    one, two = await asyncio.gather(work("one"), work("two"))
    assert "Bundle one" in one
    assert "Bundle two" in two


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """As it was before, at the end: pytest's own handlers hang on it."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in logs.QUIET}
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def test_libraries_that_talk_much_are_quiet_unless_asked(root_logger: logging.Logger) -> None:
    logs.set_up("info", "text")
    assert not logging.getLogger("kopf").isEnabledFor(logging.INFO)
    assert logging.getLogger("rukpak_py").isEnabledFor(logging.INFO)


@pytest.mark.parametrize(("form", "formatter"), [("json", JsonFormatter), ("text", TextFormatter)])
def test_logs_go_to_standard_error_once(
    root_logger: logging.Logger, form: str, formatter: type[logging.Formatter]
) -> None:
    logs.set_up("debug", form)
    logs.set_up("debug", form)
    (handler,) = root_logger.handlers
    assert isinstance(handler, logging.StreamHandler)
    assert handler.stream is sys.stderr
    assert isinstance(handler.formatter, formatter)


def test_warnings_that_clients_cause_are_a_few_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = logs.BoundedLog(logging.getLogger("test"), clock=lambda: now[0])
    for number in range(1000):
        log.warning("refused %d", number)
    assert caplog.messages == [f"refused {number}" for number in range(logs.WARNINGS_OF_A_WINDOW)]
    caplog.clear()
    now[0] += logs.WINDOW_SECONDS
    log.warning("refused again")
    assert caplog.messages == ["990 more such warnings were left out", "refused again"]


def test_repeated_message_is_one_line_until_another_one_replaces_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = logs.OnceLog(logging.getLogger("test"))
    for subject, text in (("a", "no"), ("a", "no"), ("b", "no"), ("a", "never"), ("a", "no"), ("b", "no")):
        log.tell(subject, text)
    assert caplog.messages == ["no", "no", "never", "no"]
    caplog.clear()
    log.over("a")
    log.tell("a", "no")
    assert caplog.messages == ["no"]


def test_log_remembers_a_bounded_number_of_subjects(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = logs.OnceLog(logging.getLogger("test"))
    for subject in range(logs.REMEMBERED_SUBJECTS + 1):
        log.tell(subject, "no")
    caplog.clear()
    log.tell(1, "no")
    log.tell(0, "no")
    assert caplog.messages == ["no"], "the one that was told longest ago"


def id_in(line: str) -> str:
    _, _, found = line.rpartition(" reconcile=")
    return found


async def test_lines_of_one_reconcile_have_one_id_those_of_its_tasks_and_threads_too() -> None:
    def line() -> str:
        return TextFormatter().format(record("m"))

    async def of_task() -> str:
        return line()

    with one_reconcile():
        first = id_in(line())
        assert len(first) == 8
        assert orjson.loads(JsonFormatter().format(record("m")))["reconcile"] == first
        job = asyncio.create_task(of_task())
        assert id_in(await asyncio.to_thread(line)) == first
        with about("BundleDeployment", "shop"):
            assert id_in(line()) == first
    assert id_in(await job) == first, "a job that outlives the reconcile"
    with one_reconcile():
        assert id_in(line()) not in {"", first}
        of_no_reconcile()
        assert "reconcile" not in line()
    assert "reconcile" not in line()
    assert "reconcile" not in orjson.loads(JsonFormatter().format(record("m")))


def test_line_about_an_object_comes_once_for_each_text_and_again_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lasting, logger = LastingLog(), logging.getLogger("rukpak_py.test")
    with caplog.at_level(logging.INFO), about("BundleDeployment", "shop"):
        for text in ("a", "a", "b", "a"):
            lasting.tell(logger, logging.WARNING, "Unavailable", text)
        with about("BundleDeployment", "other"):
            lasting.tell(logger, logging.WARNING, "Unavailable", "a")
        assert [record.getMessage() for record in caplog.records] == ["a", "b", "a"]
        assert orjson.loads(JsonFormatter().format(caplog.records[0]))["reason"] == "Unavailable"
        caplog.clear()
        lasting.over(logger)
        lasting.over(logger)
        lasting.tell(logger, logging.WARNING, "Unavailable", "a")
    assert [record.getMessage() for record in caplog.records] == ["over, after 3 times: a", "a"]
