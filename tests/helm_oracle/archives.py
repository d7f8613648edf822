"""The web server that the operator fetches charts from."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.helm_oracle.cases import Case
from tests.unit.web_servers import Answer, Asked, serving


@contextmanager
def served(cases: Sequence[Case]) -> Iterator[str]:
    """Each archive below the name of its file; the address of the server."""
    files = {f"/{one.path.name}": one.path for case in cases for one in (case.first, case.second)}

    def answer(asked: Asked) -> Answer:
        path = files.get(asked.path)
        return Answer(404) if path is None else Answer(200, body=path.read_bytes())

    with serving(answer) as server:
        yield server.address
