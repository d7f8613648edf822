"""Identity of a deployment's content: the objects that it wants, and whether others are deleted.

A key ends up in `status.appliedDigest` as canonical JSON, under the names of its fields. A field that has its default
is left out, so a release that adds one with a default changes no digest of a deployment that does not use it.
"""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from rukpak_py.api.reading import to_json
from rukpak_py.certificates.wanted import WantedCertificates
from rukpak_py.core.objects import canonical_json
from rukpak_py.formats.format import OFFLINE_RENDERING, ContentDescription, Rendering


class ContentKey(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    deployment: str  # its uid
    digest: str  # of the Bundle's content
    install_namespace: str = ""  # empty: the content chooses
    makes_namespace: bool = False
    prunes: bool = True  # switched on again, it has to look for what was kept meanwhile
    options: str = ""  # digest of the other options; empty: each has its default
    bundle_class: str = ""  # where it is not the class of the deployment

    def has_same_objects(self, other: "ContentKey") -> bool:
        """Whether what left the content is deleted changes none of its objects."""
        return replace(self, prunes=other.prunes) == other

    @property
    def job(self) -> tuple[str, ...]:
        """The key of its rendering among the jobs, which begins with the uid."""
        return self.deployment, canonical_json(to_json(self)).decode()


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentFacts:
    """Facts of content beside its objects; known once it was rendered."""

    namespace: str = ""  # by its own choice; empty: it does not choose
    description: ContentDescription | None = None  # what it says about itself
    rendering: str = ""  # its digest, where a second rendering may differ
    made: Rendering = OFFLINE_RENDERING  # how, then
    delete_hooks: bool = False
    certificates: WantedCertificates = field(default_factory=WantedCertificates)
