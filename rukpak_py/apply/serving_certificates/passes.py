"""What came of a pass over the serving certificates of a deployment, as values."""

from dataclasses import dataclass, field

from rukpak_py.apply.results import Failure
from rukpak_py.apply.serving_certificates.injecting import Injector, KnownCallers, Lives
from rukpak_py.apply.serving_certificates.pace import RepairPace
from rukpak_py.apply.serving_certificates.store import KnownSecrets, SecretStore
from rukpak_py.apply.serving_certificates.wanted import WantedCertificates
from rukpak_py.apply.target import Target
from rukpak_py.core.objects import ObjectKey


@dataclass(slots=True)
class CertificateResult:
    """Filled during a pass. `waiting` and `resting` end by themselves, at the latest when `look_again_seconds` say."""

    issued: list[ObjectKey] = field(default_factory=list)  # Secrets that were made, or made again
    rotated: list[ObjectKey] = field(default_factory=list)  # Secrets that serve their next pair now
    injected: list[ObjectKey] = field(default_factory=list)  # callers
    released: list[ObjectKey] = field(default_factory=list)  # callers of which we own nothing any more
    removed: list[ObjectKey] = field(default_factory=list)  # Secrets that nothing asks for any more
    # what another client changes again and again is left for a minute; with who changed it last, where that is known
    resting: dict[ObjectKey, tuple[str, ...]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    look_again_seconds: float | None = None  # until something has to be done although nothing changes; None: never

    @property
    def is_complete(self) -> bool:
        return not self.failures and not self.waiting

    def look_again_in(self, seconds: float) -> None:
        seconds = max(seconds, 0.0)
        known = self.look_again_seconds
        self.look_again_seconds = seconds if known is None else min(known, seconds)


@dataclass(slots=True)
class CertificateMemory:
    """What this process knows of the certificates of one deployment: versions and certificates, never a key."""

    secrets: KnownSecrets = field(default_factory=KnownSecrets)
    callers: KnownCallers = field(default_factory=KnownCallers)
    repairs: RepairPace = field(default_factory=RepairPace)


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One look at all certificates of a deployment."""

    target: Target
    store: SecretStore
    injector: Injector
    repairs: RepairPace
    wanted: WantedCertificates
    lives: Lives  # kept up to date with the answers of this pass
    result: CertificateResult
