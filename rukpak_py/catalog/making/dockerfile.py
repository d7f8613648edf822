"""The Dockerfile of a catalog's image, in the words of `opm generate dockerfile`.

The image holds the catalog at /configs, and a cache that the builder's `opm` has made of it. With the base `scratch` it
has nothing to run: the CatalogSource must say where the catalog and the cache are then.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.packaging import check_line

DEFAULT_IMAGE: Final = "quay.io/operator-framework/opm:latest"
SCRATCH: Final = "scratch"

_FIELD: Final = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",]*+))(?=,|$)')
_SERVED: Final = """
# The base image is expected to contain
# /bin/opm (with serve subcommand) and /bin/grpc_health_probe

# Configure the entrypoint and command
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
"""
_EXTRACTED: Final = """
# OLMv0 CatalogSources that use binary-less images must set:
# spec:
#   grpcPodConfig:
#     extractContent:
#       catalogDir: /configs
#       cacheDir: /tmp/cache
"""


def dockerfile(
    directory: str,
    *,
    base_image: str = DEFAULT_IMAGE,
    builder_image: str = DEFAULT_IMAGE,
    labels: Mapping[str, str] | None = None,
) -> str:
    """The Dockerfile for a catalog in the directory, which stands beside it."""
    if builder_image == SCRATCH:
        raise ContentError(f'the builder image must not be "{SCRATCH}": it has to run `opm`')
    for text, what in ((directory, "directory"), (base_image, "base image"), (builder_image, "builder image")):
        if not text:
            raise ContentError(f"the {what} is empty")
        check_line(text, what)
    return f"""\
# The builder image is expected to contain
# /bin/opm (with serve subcommand)
FROM {builder_image} as builder

# Copy FBC root into image at /configs and pre-populate serve cache
ADD {directory} /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]

FROM {base_image}{_EXTRACTED if base_image == SCRATCH else _SERVED}
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache

# Set FBC-specific label for the location of the FBC root directory
# in the image
LABEL operators.operatorframework.io.index.configs.v1=/configs
{"".join(_further(labels or {}))}"""


def labels_of(options: Iterable[str]) -> dict[str, str]:
    """Labels from options such as `a=1,b=2`, in which quotes keep a comma; of equal keys the last counts."""
    found: dict[str, str] = {}
    for label in (label for option in options for label in _split(option)):
        key, equals, value = label.partition("=")
        if not equals:
            raise ContentError(f"label {label!r} must have the form key=value")
        found[key] = value
    return found


def _split(option: str) -> Iterator[str]:
    position = -1
    while position < len(option):
        field = _FIELD.match(option, position + 1)
        if field is None:
            raise ContentError(f"labels {option!r} have a quote inside: put the whole label in quotes")
        quoted, plain = field.groups()
        yield quoted.replace('""', '"') if quoted is not None else plain
        position = field.end()


def _further(labels: Mapping[str, str]) -> Iterator[str]:
    if labels:
        yield "\n# Set other custom labels\n"
    for key, value in sorted(labels.items()):
        yield f'LABEL "{_quoted(key)}"="{_quoted(value)}"\n'


def _quoted(text: str) -> str:
    check_line(text, "label")
    return text.replace("\\", "\\\\").replace('"', '\\"')
