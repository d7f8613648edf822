"""Details of facts about a Bundle, as the Bundle and the deployment of its template report them."""

from difflib import get_close_matches

from rukpak_py.api.conditions import first_line
from rukpak_py.api.names import BUNDLE_KIND, CONTENT_DIGEST_ANNOTATION, LEGACY_CLASSES
from rukpak_py.controllers.result.progress import Detail, Objects

CLASSES = tuple(LEGACY_CLASSES.values())
NOT_CORRECTED = ": drift is not corrected; "
REFRESH = (
    "set the annotation core.rukpak.io/refresh-at of the BundleDeployment to a new value to install what the source "
    "has now"
)


class Unpacking(Detail, frozen=True, kw_only=True):
    """Unpacking from a source of this type. Only Ready says so: that Unpacked is False needs no words."""

    source: str

    def text(self, _: Objects, /) -> str:
        return ""

    def brief(self, _: Objects, /) -> str:
        return f"Unpacking the {self.source} Bundle"


class ContentPending(Detail, frozen=True, kw_only=True):
    """`message`: of the source, or of the node that pulls the image. `line`: for where one line has room."""

    source: str
    message: str = ""
    line: str = ""

    def text(self, _: Objects, /) -> str:
        return self.message

    def brief(self, _: Objects, /) -> str:
        return first_line(self.line or self.message) or f"Waiting for the content of the {self.source} Bundle"


class OtherContentFound(Detail, frozen=True, kw_only=True):
    found: str
    unpacked: str

    def text(self, _: Objects, /) -> str:
        return (
            "the unpacked content is lost, and the source has other content now: restore the old content in the "
            f"source, or create a new Bundle (found {self.found}, unpacked {self.unpacked})"
        )


class OtherThanInstalled(Detail, frozen=True, kw_only=True):
    """Other content for a Bundle that was deleted and made again while its content is installed."""

    found: str
    installed: str

    def text(self, _: Objects, /) -> str:
        return (
            f"the source has other content now than what is installed by this Bundle: restore the old content in the "
            f"source, or {REFRESH} (found {self.found}, installed {self.installed})"
        )


class OtherThanNamed(Detail, frozen=True, kw_only=True):
    """Other content than the template names, which is not stored, or was never unpacked from this source."""

    found: str
    named: str

    def text(self, _: Objects, /) -> str:
        return (
            f"the source has other content than the annotation {CONTENT_DIGEST_ANNOTATION} of spec.template names: "
            "remove the annotation to have what the source has now, or restore the old content in the source "
            f"(found {self.found}, named {self.named})"
        )


class InstalledContentGone(Detail, frozen=True, kw_only=True):
    """The same, where the source does not have it any more. `pin`: what was asked for. `words`, `line`: the error's."""

    words: str
    pin: str
    line: str = ""

    def text(self, _: Objects, /) -> str:
        return (
            f"{self.words}; {self.pin} was asked for, because it is installed: restore it in the source, or {REFRESH}"
        )

    def brief(self, _: Objects, /) -> str:
        return first_line(self.line or self.words)


class ContentMissing(Detail, frozen=True, kw_only=True):
    """Lost content of a Bundle that is not asked for at the moment. `why`: its last fetch failed."""

    why: str

    def text(self, _: Objects, /) -> str:
        return f"the unpacked content is lost, and cannot be fetched again yet: {self.why}"


class DigestReplaced(Detail, frozen=True, kw_only=True):
    """A status that another client wrote. It stays as they wrote it, and is not believed."""

    recorded: str

    def text(self, _: Objects, /) -> str:
        return (
            "status.digest was changed, and is not the digest of the content that was unpacked: set it back to "
            f"{self.recorded}, or delete the Bundle (a BundleDeployment creates its Bundle again)"
        )


class UploadLost(Detail, frozen=True, kw_only=True):
    unpacked: str

    def text(self, _: Objects, /) -> str:
        return (
            "the uploaded content is lost: upload the same content again, or create a new Bundle "
            f"(unpacked {self.unpacked})"
        )


class SpecReplaced(Detail, frozen=True, kw_only=True):
    """The spec changed while no webhook stood guard. What was unpacked stays what the Bundle is."""

    def text(self, _: Objects, /) -> str:
        return (
            "bundle.spec was changed although it is immutable; the content that was unpacked before stays. "
            "Restore the old spec, or create a new Bundle"
        )


class WaitingForBundle(Detail, frozen=True, kw_only=True):
    """`why`: what holds it up, as its own Ready says; the condition leaves that to the Bundle.

    The condition has the name, which is long, so one line has room for the cause.
    """

    bundle: str
    why: str = ""

    def text(self, _: Objects, /) -> str:
        return f"Waiting for the {self.bundle} Bundle to be unpacked"

    def brief(self, objects: Objects, /) -> str:
        return f"Waiting for its Bundle to be unpacked: {first_line(self.why)}" if self.why else self.text(objects)


class BundleOfOtherClass(Detail, frozen=True, kw_only=True):
    bundle: str
    class_name: str

    def text(self, _: Objects, /) -> str:
        waiting = f"Waiting for the {self.bundle} Bundle to be unpacked"
        return f'{waiting}; this operator does not serve its class "{self.class_name}"'


class UnknownClass(Detail, frozen=True, kw_only=True):
    """A misspelt class of ours. `field`: the one to correct, of this object or of a new one in its place."""

    class_name: str
    field: str
    is_immutable: bool = False

    def text(self, _: Objects, /) -> str:
        (near,) = get_close_matches(self.class_name, CLASSES, n=1) or [""]
        meant = f' (did you mean "{near}"?)' if near else ""
        where = f" of a new {BUNDLE_KIND}" if self.is_immutable else ""
        known = ", ".join(CLASSES)
        return f'there is no provisioner class "{self.class_name}"{meant}: set {self.field}{where} to one of {known}'


class BundleFails(Detail, frozen=True, kw_only=True):
    """The name stands in the condition alone, as above."""

    bundle: str
    why: str = ""

    def text(self, _: Objects, /) -> str:
        return f"Failed to unpack the {self.bundle} Bundle{f': {self.why}' if self.why else ''}"

    def brief(self, objects: Objects, /) -> str:
        return f"Failed to unpack its Bundle: {first_line(self.why)}" if self.why else self.text(objects)


class InstalledBundleMissing(Detail, frozen=True, kw_only=True):
    bundle: str
    why: str

    def text(self, _: Objects, /) -> str:
        return f"Bundle {self.bundle}, whose content is installed, does not exist{NOT_CORRECTED}{self.why}"


class InstalledBundleFails(Detail, frozen=True, kw_only=True):
    bundle: str
    why: str

    def text(self, _: Objects, /) -> str:
        return f"Bundle {self.bundle}, whose content is installed, cannot be unpacked{NOT_CORRECTED}{self.why}"


class InstalledBundleReplaced(Detail, frozen=True, kw_only=True):
    bundle: str

    def text(self, _: Objects, /) -> str:
        return (
            f"Bundle {self.bundle} was created again with content other than what is installed{NOT_CORRECTED}"
            "restore its source, or correct the new spec.template"
        )
