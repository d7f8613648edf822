"""The admission rules as pure functions: values in, denials out, in the original's order and with its texts.

The API server has checked schemas and CEL before; these rules still hold for reviews that come another way. Of the
checks on a Bundle the first failure wins, except that everything wrong with its ConfigMaps is told at once.

Any client that reaches the webhook may send a review, so its size decides nothing: a Bundle over a bound is denied
before a ConfigMap is looked up and before its parts are compared, and a denial quotes a bounded part of what was sent.
"""

import json
import posixpath
from collections.abc import Mapping, Sequence

from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.names import SourceType
from rukpak_py.api.source import CONFIG_MAPS_AT_MOST, ConfigMapSource, Source
from rukpak_py.api.template_hash import specs_equal
from rukpak_py.core.text import excerpt

SPEC_IS_IMMUTABLE = "bundle.spec is immutable"
LONGEST_PATH = 4096  # characters; no file system takes a longer one
LONGEST_NAME = 253  # of a ConfigMap
SHOWN_CHARACTERS = 512  # of a text that a client sent
SHOWN_BUNDLES = 100

_ADVICE = "set immutable: true on it"
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")

Denials = tuple[str, ...]


def bundle_denials(*, old: BundleSpec | None, new: BundleSpec, immutable: Mapping[str, bool]) -> Denials:
    """What is wrong with a Bundle that is created (`old` is None) or updated.

    `immutable` has the flag of each ConfigMap that exists in the system namespace; one that does not exist yet may
    be named, it must then be created immutable.
    """
    if denials := denials_without_look_ups(old=old, new=new):
        return denials
    source = new.source
    if source.type != SourceType.CONFIG_MAPS:
        return ()
    return tuple(
        denial
        for index, item in enumerate(source.config_maps)
        for denial in _item_denials(_item_field(index), item, immutable)
    )


def denials_without_look_ups(*, old: BundleSpec | None, new: BundleSpec) -> Denials:
    """What is wrong with a Bundle whatever the ConfigMaps are that it names. Only without any is a look-up worth it."""
    if denials := _excesses(new.source) or (_excesses(old.source) if old is not None else ()):
        return denials
    if old is not None and not specs_equal(old, new):
        return (SPEC_IS_IMMUTABLE,)
    source = new.source
    match source.type:
        case SourceType.IMAGE if source.image is None:
            return ('bundle.spec.source.image must be set for source type "image"',)
        case SourceType.GIT:
            return _git_denials(source)
        case SourceType.CONFIG_MAPS if not source.config_maps:
            return ('bundle.spec.source.configmaps must be set for source type "configmaps"',)
        case _:
            return ()


def referenced_config_maps(spec: BundleSpec) -> tuple[str, ...]:
    """The names whose flags `bundle_denials` needs. A name that is not valid for a ConfigMap is not looked up."""
    if spec.source.type != SourceType.CONFIG_MAPS:
        return ()
    names = (item.config_map.name for item in spec.source.config_maps)
    return tuple(dict.fromkeys(name for name in names if _is_name(name)))


def config_map_created_denials(*, name: str, immutable: bool, bundles: Sequence[str]) -> Denials:
    """What is wrong with a new ConfigMap that these Bundles refer to."""
    if immutable or not bundles:
        return ()
    field = ".spec.source.configMaps[].configMap.name"
    more = len(bundles) - SHOWN_BUNDLES
    names = " ".join((*bundles[:SHOWN_BUNDLES], *([f"and {more} more"] if more > 0 else ())))
    rule = f"referenced configmaps must have .immutable == true; {_ADVICE}"
    return (f"configmap {quoted(name)} is referenced in {field} by bundles [{names}]; {rule}",)


def config_map_deleted_denials(*, name: str, bundles: Sequence[str]) -> Denials:
    """Why a ConfigMap that these Bundles refer to must stay."""
    return (f"configmap {quoted(name)} is in-use by bundle {quoted(bundles[0])}",) if bundles else ()


def denial_text(denials: Denials) -> str:
    """One text for all denials, as Go joins errors."""
    distinct = list(dict.fromkeys(denials))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def quoted(text: str) -> str:
    """The text in double quotes; what could break out of them, or out of the line, is escaped."""
    return json.dumps(shown(text), ensure_ascii=False)


def shown(text: str) -> str:
    """The text as a message or the log quotes it."""
    return excerpt(text, SHOWN_CHARACTERS)


def leaves_root(path: str) -> bool:
    """Whether a relative path points outside the directory it starts from."""
    clean = posixpath.normpath(path)  # of an empty path it is `.`
    return clean == ".." or clean.startswith("../")


def _excesses(source: Source) -> Denials:
    """What is over a bound, whatever the type is: all of it would be compared and looked at."""
    if len(source.config_maps) > CONFIG_MAPS_AT_MOST:
        count = f"{len(source.config_maps)} items; at most {CONFIG_MAPS_AT_MOST} are allowed"
        return (f"bundle.spec.source.configmaps has {count}",)
    paths = [(f"{_item_field(index)}.path", item.path) for index, item in enumerate(source.config_maps)]
    if source.git is not None:
        paths.append(("bundle.spec.source.git.directory", source.git.directory))
    return tuple(
        f"{field} is invalid: it has {len(path)} characters; at most {LONGEST_PATH} are allowed"
        for field, path in paths
        if len(path) > LONGEST_PATH
    )


def _item_field(index: int) -> str:
    return f"bundle.spec.source.configmaps[{index}]"


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and _NAME_CHARACTERS.issuperset(text)


def _git_denials(source: Source) -> Denials:
    if source.git is None:
        return ('bundle.spec.source.git must be set for source type "git"',)
    if leaves_root(source.git.directory):
        return ('bundle.spec.source.git.directory begins with "../": directory must define path within the repository',)
    return ()


def _item_denials(field: str, item: ConfigMapSource, immutable: Mapping[str, bool]) -> Denials:
    denials = []
    if leaves_root(item.path):
        denials.append(f"{field}.path is invalid: {quoted(item.path)} is outside bundle root")
    name = item.config_map.name
    if not immutable.get(name, True):
        denials.append(f"{field}.configmap.name is invalid: configmap {quoted(name)} is not immutable; {_ADVICE}")
    return tuple(denials)
