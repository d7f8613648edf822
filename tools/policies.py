"""The admission policies as the chart has them: with tokens, which its template replaces by its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from rukpak_py.api.policies.installation import with_tokens

if TYPE_CHECKING:
    from yaml.nodes import ScalarNode

HEADER = "# Generated from rukpak_py/api/policies by `make generate`; do not edit.\n"
WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Long expressions are folded."""


def _string(dumper: _Dumper, text: str) -> ScalarNode:
    style = ">" if len(text) > WIDTH else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)


def page() -> str:
    documents: list[dict[str, Any]] = with_tokens()
    text: str = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=WIDTH, explicit_start=True)
    return HEADER + text
