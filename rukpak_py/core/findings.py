"""Findings of checks: rule, severity, place, text and advice. A refused bundle is an error that holds its findings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rukpak_py.core.errors import ContentError


class Severity(StrEnum):
    """An error is a reason to refuse a bundle, for whomever the profile asks about; a warning is worth a look."""

    ERROR = "error"
    WARNING = "warning"


class Profile(StrEnum):
    """The question of a validation. The first two ask who would refuse the bundle; the others add rules to that."""

    DEFAULT = "default"  # does it install, by us, on a supported Kubernetes?
    OPM = "opm"  # does `opm alpha bundle validate` accept it?
    STRICT = "strict"  # every warning is an error
    OPERATORHUB = "operatorhub"  # what operatorhub.io asks for
    COMMUNITY = "community"  # what the catalogs of OpenShift's community ask for
    BUNDLE_OBJECTS = "bundle-objects"  # objects that can make a cluster unstable
    PRACTICES = "practices"  # what makes an operator pleasant to run
    OLM_V1 = "olmv1"  # what operator-controller refuses to install


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """Another text for the key or the value at the place of a finding: a correction that needs no thought."""

    text: str | None = None  # None: the text that is there
    is_string: bool = True  # else a number, true or false


QUOTED = Fix()


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One result of a check. What is not known is empty: a text is "", a line or column is 0."""

    rule: str  # stable: RV1-004, PLAIN-002
    severity: Severity
    message: str  # what is wrong, in upstream's words where it has any
    hint: str = ""  # what to do about it
    file: str = ""  # relative to the bundle's root
    line: int = 0  # from 1; 0 is unknown
    column: int = 0
    path: str = ""  # the field in the document: spec.install.spec.deployments[0].name
    document: int = 0  # of the file; reports leave it to the line
    # The only profile, DEFAULT or OPM, in which it is an error; None where the severity is the same in both.
    error_only_in: Profile | None = field(default=None, compare=False)
    fix: Fix | None = field(default=None, compare=False)

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    @property
    def location(self) -> str:
        """`manifests/csv.yaml:12:3`, as compilers print it; empty when it is about the bundle as a whole."""
        numbers = [str(number) for number in (self.line, self.column) if number]
        return ":".join([self.file, *numbers]) if self.file else ""

    def __str__(self) -> str:
        located = f"{self.location}: {self.message}" if self.location else self.message
        return f"{located} [{self.rule}]"


class InvalidBundleError(ContentError):
    """A bundle or catalog that cannot be used, with every reason.

    `text` is for readers that expect upstream's words alone.
    """

    def __init__(self, findings: Sequence[Finding], text: str | None = None, *, noun: str = "bundle") -> None:
        super().__init__("\n".join(map(str, findings)) if text is None else text)
        self.findings = tuple(findings)
        self.noun = noun

    @property
    def advised(self) -> str:
        """The text, and what to do about it."""
        hints = dict.fromkeys(finding.hint for finding in self.findings if finding.hint)
        return " ".join([f"{str(self).rstrip('.')}.", *hints]) if hints else str(self)

    def __reduce__(self) -> tuple[type["InvalidBundleError"], tuple[tuple[Finding, ...], str]]:
        """Between processes both travel; by default the text would come for the findings."""
        return type(self), (self.findings, str(self))


def advised(error: Exception) -> str:
    """The text of an error, with the advice of its findings where it has any."""
    return error.advised if isinstance(error, InvalidBundleError) else str(error)
