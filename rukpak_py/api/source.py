"""Where the content of a Bundle comes from: a union of five, named by `type`."""

from typing import Annotated, ClassVar

from msgspec.structs import replace

from rukpak_py.api.names import SourceType
from rukpak_py.api.schema import ApiType, CelRule, doc

_CA_BUNDLE = doc(
    "Certificates of private authorities, in PEM, trusted on top of those of the system.",
    maxLength=65536,
    pattern="-----BEGIN CERTIFICATE-----",
)
CONFIG_MAPS_AT_MOST = 256  # of one Bundle; the webhook looks each of them up
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


class ImageSource(ApiType, frozen=True, kw_only=True):
    """A container image whose file system holds the bundle."""

    ref: Annotated[str, doc("The image by tag or digest, as in a Pod. A digest never moves.")]
    pull_secret: Annotated[str, doc("Name of an image pull Secret in the system namespace.")] = ""
    ca_bundle: CaBundle = ""


class GitRef(ApiType, frozen=True, kw_only=True):
    """What to check out: exactly one branch, tag or commit."""

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


class GitSource(ApiType, frozen=True, kw_only=True):
    """A directory of a git repository."""

    repository: Annotated[str, doc("URL of the repository: https, http, ssh, or `user@host:path`.")]
    directory: Annotated[
        str, doc("The directory of the repository that is the bundle's root. Default: the root of the repository.")
    ] = ""
    ref: Annotated[GitRef, doc("What to check out.")]
    auth: Annotated[Authorization, doc("Credentials for the git server.")] = Authorization()
    ca_bundle: CaBundle = ""


class ConfigMapSource(ApiType, frozen=True, kw_only=True):
    """A ConfigMap whose keys are files of the bundle."""

    config_map: Annotated[
        ConfigMapReference,
        doc(
            "The ConfigMap. It must be immutable, and cannot be deleted while a Bundle refers to it.",
            x_kubernetes_map_type="atomic",
        ),
    ]
    path: Annotated[str, doc("The directory inside the bundle that receives the files. Default: the root.")] = ""


class UploadSource(ApiType, frozen=True, kw_only=True):
    """Content that a client uploads after it has created the Bundle."""


class HttpSource(ApiType, frozen=True, kw_only=True):
    """A gzip-compressed tar archive on a web server."""

    url: Annotated[str, doc("URL of the archive: https or http.")]
    auth: Annotated[Authorization, doc("Credentials for basic authentication.")] = Authorization()
    sha256: Annotated[
        str, doc("Expected SHA-256 of the archive, 64 lower-case hexadecimal digits.", pattern="^[a-f0-9]{64}$")
    ] = ""
    ca_bundle: CaBundle = ""


def _member_of(source_type: str, *, text: str, given: str) -> CelRule:
    message = f'bundle.spec.source.{text} must be set for source type "{text}"'
    return CelRule(f"self.type != '{source_type}' || {given}", message)


class Source(ApiType, frozen=True, kw_only=True):
    """Where the content comes from. Set `type` and the one member of that name."""

    type: Annotated[str, doc("Which member is set: `image`, `git`, `configMaps`, `upload` or `http`.")]
    image: Annotated[ImageSource | None, doc("Content of a container image.")] = None
    git: Annotated[GitSource | None, doc("Content of a git repository.")] = None
    config_maps: Annotated[
        tuple[ConfigMapSource, ...], doc("Content of ConfigMaps, in this order.", maxItems=CONFIG_MAPS_AT_MOST)
    ] = ()
    upload: Annotated[UploadSource | None, doc("Content that a client uploads.")] = None
    http: Annotated[HttpSource | None, doc("Content of an archive on a web server.")] = None

    rules: ClassVar[tuple[CelRule, ...]] = (
        _member_of("image", text="image", given="has(self.image)"),
        _member_of("git", text="git", given="has(self.git)"),
        _member_of("configMaps", text="configmaps", given="(has(self.configMaps) && self.configMaps.size() > 0)"),
        _member_of("upload", text="upload", given="has(self.upload)"),
        _member_of("http", text="http", given="has(self.http)"),
    )

    @property
    def pin(self) -> str:
        """What a message calls a resolved source, where a reference that moves was resolved. Empty: there is none."""
        if self.git is not None:
            return f"commit {self.git.ref.commit}" if self.git.ref.commit else ""
        return self.image.ref if self.image is not None else ""


def is_directory(source: Source, artifact_type: str) -> bool:
    """Whether the content is no archive as `helm package` makes it: charts are loaded differently.

    `artifact_type`: as in the status of a Bundle.
    """
    return source.type != SourceType.HTTP and not artifact_type


def without_ca_bundles(source: Source) -> Source:
    """As a status shows it: certificates are long, stand in the spec, and columns of kubectl print all of this."""
    return replace(
        source,
        image=replace(source.image, ca_bundle="") if source.image is not None else None,
        git=replace(source.git, ca_bundle="") if source.git is not None else None,
        http=replace(source.http, ca_bundle="") if source.http is not None else None,
    )


def secret_names(source: Source) -> frozenset[str]:
    """Of the Secrets of the system namespace that it names, in whichever member."""
    named = (one.auth.secret.name for one in (source.git, source.http) if one is not None)
    return frozenset({*named, source.image.pull_secret if source.image is not None else ""} - {""})
