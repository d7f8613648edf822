"""Fetches from registries of a test as the operator makes them, and what is left of them."""

from dataclasses import dataclass, field
from pathlib import Path

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image.source import ImageFetcher, ImagePorts
from rukpak_py.sources.source import Fetched, FetchRequest
from rukpak_py.sources.spool import Spool
from tests.source_secrets import logins
from tests.sources_alone import Nothing
from tests.unit.sources.image.image_pulls import LOOPBACK
from tests.workers import WORKERS


@dataclass
class Fetching:
    """The image source with a spool in `folder`."""

    folder: Path
    limits: Limits = DEFAULT_LIMITS
    arrived: list[str] = field(default_factory=list)  # whose content took a place

    def __post_init__(self) -> None:
        nothing = Nothing()
        self.spool = Spool(self.limits, self.folder)
        self.source = ImageFetcher(
            ImagePorts(logins=logins(), pull_secrets=nothing, unpacked=nothing),
            addresses=LOOPBACK,
            plain_http=frozenset(),
            limits=self.limits,
            workers=WORKERS,
            spool=self.spool,
        )

    async def fetch(self, ref: str) -> Fetched:
        async def content_arrives() -> None:
            self.arrived.append(ref)

        image = Source(type="image", image=ImageSpec(ref=ref))
        return await self.source.fetch(
            FetchRequest(
                bundle="b", uid="u", source=image, provisioner_class=PLAIN_CLASS, content_arrives=content_arrives
            )
        )

    @property
    def left(self) -> tuple[int, list[Path]]:
        """Bytes that count, and files."""
        return self.spool.used, [path for path in self.folder.rglob("*") if path.is_file()]


NOTHING_LEFT: tuple[int, list[Path]] = (0, [])
