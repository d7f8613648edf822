"""The admission rules as pure functions: values in, denials out, in the original's order and with its texts.

The API server has checked schemas and CEL before; these rules still hold for reviews that come another way. Of the
checks on a Bundle the first failure wins, except that everything wrong with its ConfigMaps is told at once.

Any client that reaches the webhook may send a review, so its size decides nothing: a Bundle over a bound is denied
before a ConfigMap is looked up and before its parts are compared, and a denial quotes a bounded part of what was sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.names import SourceType
from rukpak_py.api.source_types import IMMUTABLE_ADVICE
from rukpak_py.api.template_hash import specs_equal
from rukpak_py.core.text import quoted

SPEC_IS_IMMUTABLE = "bundle.spec is immutable"
LONGEST_NAME = 253  # of a ConfigMap
SHOWN_BUNDLES = 100

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")

Denials = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Answer to a review. `warnings` are shown to the client, whatever is decided."""

    denials: Denials = ()
    warnings: tuple[str, ...] = ()


def bundle_denials(*, old: BundleSpec | None, new: BundleSpec, immutable: Mapping[str, bool]) -> Denials:
    """Problems of a Bundle that is created (`old` is None) or updated.

    `immutable` has the flag of each ConfigMap that exists in the system namespace; one that does not exist yet may
    be named, it must then be created immutable.
    """
    if denials := denials_without_look_ups(old=old, new=new):
        return denials
    return new.source.config_map_denials(immutable) if new.source.type == SourceType.CONFIG_MAPS else ()


def denials_without_look_ups(*, old: BundleSpec | None, new: BundleSpec) -> Denials:
    """Problems of a Bundle, whatever ConfigMaps it names. Look those up only when there are none."""
    if denials := new.source.excesses() or (old.source.excesses() if old is not None else ()):
        return denials
    if old is not None and not specs_equal(old, new):
        return (SPEC_IS_IMMUTABLE,)
    return new.source.denials()


def referenced_config_maps(spec: BundleSpec) -> tuple[str, ...]:
    """The names whose flags `bundle_denials` needs. A name that is not valid for a ConfigMap is not looked up."""
    if spec.source.type != SourceType.CONFIG_MAPS:
        return ()
    names = (item.config_map.name for item in spec.source.config_maps)
    return tuple(dict.fromkeys(name for name in names if _is_name(name)))


def config_map_created_denials(*, name: str, immutable: bool, bundles: Sequence[str]) -> Denials:
    """Problems of a new ConfigMap that these Bundles refer to."""
    if immutable or not bundles:
        return ()
    field = ".spec.source.configMaps[].configMap.name"
    more = len(bundles) - SHOWN_BUNDLES
    names = " ".join((*bundles[:SHOWN_BUNDLES], *([f"and {more} more"] if more > 0 else ())))
    rule = f"referenced configmaps must have .immutable == true; {IMMUTABLE_ADVICE}"
    return (f"configmap {quoted(name)} is referenced in {field} by bundles [{names}]; {rule}",)


def config_map_deleted_denials(*, name: str, bundles: Sequence[str]) -> Denials:
    """The reason that a ConfigMap which these Bundles refer to must stay."""
    return (f"configmap {quoted(name)} is in-use by bundle {quoted(bundles[0])}",) if bundles else ()


def denial_text(denials: Denials) -> str:
    """Join all denials to one text, as Go joins errors."""
    distinct = list(dict.fromkeys(denials))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and _NAME_CHARACTERS.issuperset(text)
