"""A minimal Debian, made by mmdebstrap: what images are built on where no registry is reached."""

from collections.abc import Collection
from pathlib import Path

from e2e.cluster import packages
from e2e.cluster.programs import output

SUITE = "bookworm"
EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
PROGRAMS = {"mmdebstrap": "mmdebstrap", "gpgv": "gpgv"}


def recipe(included: Collection[str], *, kept: Collection[str] = ()) -> list[str]:
    """The command, but for target and sources: all that decides what comes out."""
    excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED]
    excluded += [f"--dpkgopt=path-include={pattern}" for pattern in kept]
    return ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(included)}", *excluded, SUITE]


def bootstrap(included: Collection[str], target: Path, *, kept: Collection[str] = (), purpose: str) -> None:
    """Make the file system: a folder, or an archive where the name ends in .tar. `kept`: what stays of `EXCLUDED`."""
    packages.require(PROGRAMS, purpose=purpose)
    output([*recipe(included, kept=kept), str(target), *_sources()])


def _sources() -> list[str]:
    """On the same Debian, the machine's own package sources: they may be a mirror, the only one that can be reached."""
    release = Path("/etc/os-release")
    if not release.exists() or f"VERSION_CODENAME={SUITE}\n" not in release.read_text(encoding="utf-8"):
        return []
    places = [Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")]
    return [str(place) for place in places if place.exists() and place.stat().st_size][:1]
