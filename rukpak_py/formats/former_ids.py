"""Ids that rules had in earlier releases. Users have them in settings and comments."""

from collections.abc import Mapping
from typing import Final

# Former rules -> those that tell the same now. An id never gets another meaning.
FORMER_IDS: Final[Mapping[str, str]] = {
    "RV1-101": "RV1-904",
    "RV1-102": "RV1-907",
    "RV1-208": "RV1-006",
    "RV1-312": "RV1-910",
    "RV1-313": "RV1-910",
    "RV1-319": "RV1-910",
    "RV1-401": "RV1-004",
    "RV1-709": "RV1-003",
    "RV1-970": "OBJ-013",
    "RV1-975": "OBJ-016",
    "RV1-976": "OBJ-017",
    "RV1-977": "OBJ-018",
    "RV1-978": "OBJ-014",
    "RV1-979": "OBJ-015",
    "RV1-981": "OBJ-020",
}


def former_ids_of(rule: str) -> tuple[str, ...]:
    return tuple(old for old, new in FORMER_IDS.items() if new == rule)
