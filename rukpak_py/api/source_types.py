"""The types of sources: each is one class, with everything that the API asks of it.

Its fields, what CEL and the webhook say of it, the Secrets that it names, how it is pinned and hashed. `SPECS` names
it, and `Source` has one field for it. How its content is fetched is one row of `sources.by_type`.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Self

from msgspec.structs import replace

from rukpak_py.api.names import SourceType
from rukpak_py.api.schema import ApiType, CelRule, doc
from rukpak_py.core.gojson import Fields
from rukpak_py.core.text import quoted

_CA_BUNDLE = doc(
    "Certificates of private authorities, in PEM, trusted on top of those of the system.",
    maxLength=65536,
    pattern="-----BEGIN CERTIFICATE-----",
)
CONFIG_MAPS_AT_MOST = 256  # of one Bundle; the webhook looks each of them up
LONGEST_PATH = 4096  # characters; no file system takes a longer one
IMMUTABLE_ADVICE = "set immutable: true on it"
WHOLE_COMMIT = 40  # digits; a repository by SHA-256 has more
COMMIT_DIGITS = 12  # of a commit that stands for a version
CaBundle = Annotated[str, _CA_BUNDLE]


class SecretReference(ApiType, frozen=True, kw_only=True):
    """A Secret in the system namespace."""

    name: Annotated[str, doc("Name of the Secret.")] = ""


class ConfigMapReference(ApiType, frozen=True, kw_only=True):
    """A ConfigMap in the system namespace."""

    name: Annotated[str, doc("Name of the ConfigMap.")] = ""


class Authorization(ApiType, frozen=True, kw_only=True):
    """How to log in to the server that has the content."""

    secret: Annotated[
        SecretReference,
        doc(
            "Secret in the system namespace: `username` and `password` for http and https, `ssh-privatekey` and"
            " `ssh-knownhosts` for ssh. Its annotation `core.rukpak.io/hosts` names the hosts that it is for.",
            x_kubernetes_map_type="atomic",
        ),
    ] = SecretReference()
    insecure_skip_verify: Annotated[
        bool, doc("Do not verify the server's certificate (https) or host key (ssh). Not for production.")
    ] = False

    def canonical(self) -> Fields:
        secret = Fields.non_empty(name=self.secret.name)
        return Fields.of(secret=secret) + Fields.non_empty(insecureSkipVerify=self.insecure_skip_verify)


class SourceSpec(ApiType, frozen=True, kw_only=True):
    """One type of source. The answers here are those of a type that has nothing to answer."""

    source_type: ClassVar[SourceType]
    is_given: ClassVar[str] = ""  # in CEL; empty: its field is there
    paths: ClassVar[tuple[str, ...]] = ()  # fields with paths, whose length is bounded
    is_archive: ClassVar[bool] = False  # one as `helm package` makes it

    @classmethod
    def unset(cls) -> str:
        """The text for a source of this type without this member. The original has its words in lower case."""
        name = cls.source_type.lower()
        return f'bundle.spec.source.{name} must be set for source type "{name}"'

    @classmethod
    def rule(cls) -> CelRule:
        given = cls.is_given or f"has(self.{cls.source_type})"
        return CelRule(f"self.type != '{cls.source_type}' || {given}", cls.unset())

    def canonical(self) -> Fields:
        """As the original's Go struct is hashed. Our own fields come last, and only when they are set."""
        return Fields(())

    def denials(self) -> tuple[str, ...]:
        """Why the webhook refuses it, beside its bounds."""
        return ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of Secrets of the system namespace; empty ones name none."""
        return ()

    @property
    def pin(self) -> str:
        """Its name in a message once a reference that moves was resolved. Empty: there is none."""
        return ""

    def pinned_as(self, _resolved: Self) -> Self:
        """The same with nothing but the pin of what others may have written."""
        return self

    def accessed_as(self, _spec: Self) -> Self:
        """As it was recorded, fetched with what the spec says now."""
        return self

    @property
    def is_pinned(self) -> bool:
        """Whether it says which content it is, wherever that comes from."""
        return False

    def version(self, _resolved: Self | None) -> str:
        """Version of content that says none itself."""
        return ""


class ImageSource(SourceSpec, frozen=True, kw_only=True):
    """A container image whose file system holds the bundle."""

    source_type: ClassVar[SourceType] = SourceType.IMAGE

    ref: Annotated[str, doc("The image by tag or digest, as in a Pod. A digest never moves.")]
    pull_secret: Annotated[str, doc("Name of an image pull Secret in the system namespace.")] = ""
    ca_bundle: CaBundle = ""

    def canonical(self) -> Fields:
        return Fields.of(ref=self.ref) + Fields.non_empty(pullSecret=self.pull_secret, caBundle=self.ca_bundle)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.pull_secret,)

    @property
    def pin(self) -> str:
        return self.ref

    def pinned_as(self, resolved: Self) -> Self:
        name, at, _ = self.ref.partition("@")
        _, pinned, digest = resolved.ref.partition("@")
        if at or not pinned:
            return self
        head, slash, last = name.rpartition("/")
        return replace(self, ref=f"{head}{slash}{last.partition(':')[0]}@{digest}")

    def accessed_as(self, spec: Self) -> Self:
        return replace(spec, ref=self.ref)

    @property
    def is_pinned(self) -> bool:
        return "@" in self.ref

    def version(self, _resolved: Self | None) -> str:
        return self.ref.partition("@")[0].rpartition("/")[2].partition(":")[2]


class GitRef(ApiType, frozen=True, kw_only=True):
    """The branch, tag or commit to check out: exactly one of them."""

    branch: Annotated[str, doc("A branch; its newest commit at the time of unpacking is used.")] = ""
    tag: Annotated[str, doc("A tag, annotated or not.")] = ""
    commit: Annotated[str, doc("The hash of a commit, or its first digits, at least four. It never moves.")] = ""

    rules: ClassVar[tuple[CelRule, ...]] = (
        CelRule(
            "[has(self.branch) && self.branch != '', has(self.tag) && self.tag != '',"
            " has(self.commit) && self.commit != ''].filter(given, given).size() == 1",
            "bundle.spec.source.git.ref must name exactly one non-empty branch, tag or commit",
        ),
    )


class GitSource(SourceSpec, frozen=True, kw_only=True):
    """A directory of a git repository."""

    source_type: ClassVar[SourceType] = SourceType.GIT
    paths: ClassVar[tuple[str, ...]] = ("directory",)

    repository: Annotated[str, doc("URL of the repository: https, http, ssh, or `user@host:path`.")]
    directory: Annotated[
        str, doc("The directory of the repository that is the bundle's root. Default: the root of the repository.")
    ] = ""
    ref: Annotated[GitRef, doc("What to check out.")]
    auth: Annotated[Authorization, doc("Credentials for the git server.")] = Authorization()
    ca_bundle: CaBundle = ""

    def canonical(self) -> Fields:
        ref = Fields.non_empty(branch=self.ref.branch, tag=self.ref.tag, commit=self.ref.commit)
        return (
            Fields.of(repository=self.repository)
            + Fields.non_empty(directory=self.directory)
            + Fields.of(ref=ref, auth=self.auth.canonical())
            + Fields.non_empty(caBundle=self.ca_bundle)
        )

    def denials(self) -> tuple[str, ...]:
        if leaves_root(self.directory):
            field = "bundle.spec.source.git.directory"
            return (f'{field} begins with "../": directory must define path within the repository',)
        return ()

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.auth.secret.name,)

    @property
    def pin(self) -> str:
        return f"commit {self.ref.commit}" if self.ref.commit else ""

    def pinned_as(self, resolved: Self) -> Self:
        commit = resolved.ref.commit
        return replace(self, ref=GitRef(commit=commit)) if commit and commit.startswith(self.ref.commit) else self

    @property
    def is_pinned(self) -> bool:
        return len(self.ref.commit) >= WHOLE_COMMIT

    def version(self, resolved: Self | None) -> str:
        return self.ref.tag or (resolved.ref.commit[:COMMIT_DIGITS] if resolved is not None else "")


class ConfigMapSource(SourceSpec, frozen=True, kw_only=True):
    """A ConfigMap whose keys are files of the bundle."""

    source_type: ClassVar[SourceType] = SourceType.CONFIG_MAPS
    is_given: ClassVar[str] = "(has(self.configMaps) && self.configMaps.size() > 0)"
    paths: ClassVar[tuple[str, ...]] = ("path",)

    config_map: Annotated[
        ConfigMapReference,
        doc(
            "The ConfigMap. It must be immutable, and cannot be deleted while a Bundle refers to it.",
            x_kubernetes_map_type="atomic",
        ),
    ]
    path: Annotated[str, doc("The directory inside the bundle that receives the files. Default: the root.")] = ""

    def canonical(self) -> Fields:
        named = Fields.non_empty(name=self.config_map.name)
        return Fields.of(configMap=named) + Fields.non_empty(path=self.path)

    def looked_up_denials(self, field: str, immutable: Mapping[str, bool]) -> Iterator[str]:
        """`field`: of this item. `immutable`: as in `admission.bundle_denials`."""
        if leaves_root(self.path):
            yield f"{field}.path is invalid: {quoted(self.path)} is outside bundle root"
        name = self.config_map.name
        if not immutable.get(name, True):
            yield f"{field}.configmap.name is invalid: configmap {quoted(name)} is not immutable; {IMMUTABLE_ADVICE}"


class UploadSource(SourceSpec, frozen=True, kw_only=True):
    """Content that a client uploads after it has created the Bundle."""

    source_type: ClassVar[SourceType] = SourceType.UPLOAD


class HttpSource(SourceSpec, frozen=True, kw_only=True):
    """A gzip-compressed tar archive on a web server."""

    source_type: ClassVar[SourceType] = SourceType.HTTP
    is_archive: ClassVar[bool] = True

    url: Annotated[str, doc("URL of the archive: https or http.")]
    auth: Annotated[Authorization, doc("Credentials for basic authentication.")] = Authorization()
    sha256: Annotated[
        str, doc("Expected SHA-256 of the archive, 64 lower-case hexadecimal digits.", pattern="^[a-f0-9]{64}$")
    ] = ""
    ca_bundle: CaBundle = ""

    def canonical(self) -> Fields:
        ours = Fields.non_empty(sha256=self.sha256, caBundle=self.ca_bundle)
        return Fields.of(url=self.url, auth=self.auth.canonical()) + ours

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.auth.secret.name,)

    @property
    def is_pinned(self) -> bool:
        return bool(self.sha256)


SPECS: Mapping[str, type[SourceSpec]] = {
    one.source_type: one for one in (ImageSource, GitSource, ConfigMapSource, UploadSource, HttpSource)
}


def leaves_root(path: str) -> bool:
    """Whether a relative path points outside the directory it starts from."""
    clean = posixpath.normpath(path)  # of an empty path it is `.`
    return clean == ".." or clean.startswith("../")
