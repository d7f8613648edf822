"""Everything that outlives a process, pinned: `values.yaml` has the values, and what a change of them does to clusters.

A change fails one golden. When it is meant, the code has to read what the former release has left, and a test has to
upgrade from that; then the new value goes into the file.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest
import yaml

FILE = Path(__file__).with_name("values.yaml")


@cache
def subjects() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text())
    return found


def check(subject: str, found: Mapping[str, Any]) -> None:
    """That these values are those of the file, no more and no fewer."""
    pinned = subjects()[subject]
    wrong = differences(pinned["values"], orjson.loads(orjson.dumps(found)))
    if wrong:
        pytest.fail(
            f"{subject}: what outlives a process has changed.\n\n"
            + "\n".join(wrong)
            + f"\n\nOn clusters that run the former release: {pinned['changed']}"
            + f"\nIf that is meant, read what the former release has left for one release, and change {FILE.name}.",
            pytrace=False,
        )


def differences(pinned: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}\n  was {pinned.get(name, 'not there')!r}\n  is  {found.get(name, 'not there')!r}"
        for name in sorted(pinned.keys() | found.keys())
        if name not in pinned or name not in found or pinned[name] != found[name]
    ]


def use_pinned_names(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """A name of the API that changed fails its own golden, and not those of values that it is a part of."""
    for subject, pinned in subjects().items():
        for name, value in pinned["values"].items() if subject.startswith("names: ") else ():
            for module in modules:
                if isinstance(value, str | int) and hasattr(module, name):
                    monkeypatch.setattr(module, name, value)
