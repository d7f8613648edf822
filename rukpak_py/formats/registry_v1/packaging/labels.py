"""The two descriptions of a bundle: metadata/annotations.yaml, and the labels of its image, here as a Dockerfile.

The bytes are those of `opm alpha bundle generate`: annotations sorted by key, labels in an order of their own, an empty
line behind the labels only when the last of them is the default channel. Nothing is quoted in a Dockerfile, so texts
that could end a line, or join it with the next one, are refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.core.errors import ContentError

_PREFIX: Final = "operators.operatorframework.io.bundle."
_MANIFESTS: Final = "manifests/"
_METADATA: Final = "metadata/"


@dataclass(frozen=True, kw_only=True)
class Labels:
    media_type: str
    package: str
    channels: str  # separated by commas
    default_channel: str = ""  # empty: not said

    def __post_init__(self) -> None:
        for what in ("package", "channels", "default_channel"):
            check_line(getattr(self, what), what.replace("_", " "))

    def values(self) -> dict[str, str]:
        """Values by key, in the order of a Dockerfile."""
        found = {
            "mediatype.v1": self.media_type,
            "manifests.v1": _MANIFESTS,
            "metadata.v1": _METADATA,
            "package.v1": self.package,
            "channels.v1": self.channels,
            "channel.default.v1": self.default_channel,
        }
        return {f"{_PREFIX}{key}": value for key, value in found.items() if value or key != "channel.default.v1"}


def annotations_file(labels: Labels) -> bytes:
    text = "".join(dump_all([{"annotations": dict(sorted(labels.values().items()))}]))
    return text.removeprefix("---\n").encode()


def dockerfile(labels: Labels, *, base_image: str, manifests: str, metadata: str) -> bytes:
    """`manifests` and `metadata` are paths relative to the directory that the image is built in."""
    for value, what in ((base_image, "base image"), (manifests, "directory"), (metadata, "directory")):
        check_line(value, what)
    lines = [f"FROM {base_image}", ""]
    lines += [f"LABEL {key}={value}" for key, value in labels.values().items()]
    lines += [""] if labels.default_channel else []
    lines += [f"COPY {manifests} /{_MANIFESTS}", f"COPY {metadata} /{_METADATA}"]
    return "".join(f"{line}\n" for line in lines).encode()


def check_line(value: str, what: str) -> None:
    if any(not character.isprintable() for character in value) or value.endswith("\\"):
        raise ContentError(f"the {what} {value!r} has a character that cannot stand in a Dockerfile")


def differences(found: Mapping[str, str], labels: Labels) -> str:
    """Reasons against keeping these annotations, in upstream's words; empty when there are none."""
    said = list(_differences(found, labels))
    return said[0] if len(said) == 1 else f"[{', '.join(said)}]" if said else ""


def _differences(found: Mapping[str, str], labels: Labels) -> Iterator[str]:
    for key, value in labels.values().items():
        if key not in found:
            yield f"Missing field: {key}"
        elif found[key] != value:
            yield f'Expect field "{key}" to have value "{value}" instead of "{found[key]}"'
