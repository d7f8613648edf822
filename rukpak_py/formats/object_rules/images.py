"""Rule for the images of containers, by the grammar of container runtimes.

A kubelet starts no container whose image it cannot parse: such a bundle never works. A chart may leave a part of the
image to its values, which is a warning: the image begins with its tag then, or ends before it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats.image_references import reason_against
from rukpak_py.formats.json_fields import text
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Judged] = Family(title="Images of containers", origin="rukpak-py")

_PART_OF_VALUES: Final = re.compile(r"(?:^|[:/@])(?:[:/@]|$)")  # a part that a template had no value for


@FAMILY.rule(
    "OBJ-013",
    title="The image of a container is an image reference",
    hint="Write the reference with its registry, best by digest: `registry.example.com/team/image@sha256:…`.",
    error_only_in=Profile.DEFAULT,
)
def containers_have_images(judged: Judged) -> Iterator[Problem]:
    for pods in judged.pods:
        for origin, container in pods.containers():
            image = text(container, "image")
            if not image or image != image.strip():
                continue  # told by the rules of the API server
            if reason := reason_against(image):
                message = f"image '{image[:300]}' is not an image reference: {reason}; the container never starts"
                problem = origin.problem(message, "image")
                is_of_values = bool(origin.title) and "://" not in image and _PART_OF_VALUES.search(image)
                yield replace(problem, severity=Severity.WARNING) if is_of_values else problem
