"""Ports of the controllers: what they ask of content, records, renderings and Secrets, so that tests can replace it."""

from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from rukpak_py.api.accounts import Account
from rukpak_py.api.source import Source
from rukpak_py.content.records import BundleRecord
from rukpak_py.content.store import StoredForm
from rukpak_py.content.tree import Tree
from rukpak_py.core.keyed_digests import DigestKey
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.formats.helm.cluster_view import LookedUp
from rukpak_py.kube.client import Client
from rukpak_py.sources.source import Fetched, FetchRequest, ImageAccess, Waiting

ReplyToLookup = Callable[[object], Awaitable[LookedUp]]  # what is asked for comes from a process that is not trusted


class Sources(Protocol):
    def lane(self, source: Source) -> str:
        """The lane of jobs that fetch from it."""

    async def fetch(self, request: FetchRequest) -> Fetched | Waiting:
        """The content of a source, within all limits; `Waiting` where a watch will bring the Bundle back."""

    async def clean_up(self, bundle: str, uid: str, source: Source) -> None:
        """Remove what was only there to bring the content, which is stored or of no use. No call in the usual case."""


class Content(Protocol):
    """Checking, keeping and rendering content; what is long or blocking happens in threads and worker processes."""

    async def check(self, classes: Classes, tree: Tree, *, is_directory: bool) -> Tree | None:
        """`ContentError` when the tree is not what the class expects. The answer: its converted form, if it has one.

        `is_directory`: the tree does not come from an archive.
        """

    async def keep(self, tree: Tree, converted: Tree | None = None) -> str:
        """Store the content once; the answer is its digest."""

    async def has(self, digest: str) -> bool: ...

    async def link(self, bundle: str, digest: str, form: StoredForm) -> None:
        """Make the stored content reachable under the Bundle's name, in this form if it has it."""

    async def is_linked(self, bundle: str, digest: str) -> bool:
        """Whether the operator itself linked this content to the Bundle's name, and it is stored."""

    async def unlink(self, bundle: str) -> None: ...

    def is_content_of(self, digest: str, *, bundle: str, deployment: str) -> bool:
        """Whether the records say that this is the content of the Bundle with this uid, whatever its status says.

        `bundle` empty: it is gone; then whether it is the content of any Bundle that the deployment had.
        """

    async def load(self, digest: str) -> Tree | None:
        """Stored content; None: it is not there, or damaged. Whose it is, is asked before: see `is_content_of`."""

    def renders_in_place(self, classes: Classes, tree: Tree) -> bool:
        """Whether rendering is quick and done in this process; else it waits for a worker process, and may be long."""

    async def render(self, classes: Classes, tree: Tree, options: RenderOptions) -> RenderedContent:
        """The objects of the content, always the same for the same classes, tree and options, unless it varies."""

    async def render_with_lookups(
        self, classes: Classes, tree: Tree, options: RenderOptions, reply: ReplyToLookup
    ) -> RenderedContent:
        """The same for templates that see the cluster that the release names; `reply` answers what they look up."""


class Records(Protocol):
    """Records of the content that was unpacked for each Bundle, as the operator itself wrote them."""

    def of(self, uid: str) -> BundleRecord | None:
        """Record of the Bundle with this uid. None: it was never unpacked, or its record is lost."""

    @property
    def are_new(self) -> bool:
        """Whether this process is the first that keeps records: an operator without records made this content."""

    def of_deployment(self, digest: str, deployment: str, *, spec_digest: str = "") -> BundleRecord | None:
        """Record of a Bundle that the deployment with this uid has or had, with this content.

        `spec_digest`: of a Bundle with this spec only.
        """

    async def keep(self, record: BundleRecord) -> None:
        """Keep a record, which counts from now on. Where it cannot be written to disk now, it is written later."""

    async def image_unpacked(self, access: ImageAccess, digest: str, *, artifact_type: str = "") -> None:
        """The content of an image by its digest is stored, and this reader has proved access to the image."""


class Renderings(Protocol):
    """Renderings that cannot be made again, kept where only the operator can read them."""

    async def load(self, key: str) -> RenderedContent | None:
        """None: it was never kept, or is lost."""

    async def keep(self, key: str, content: RenderedContent) -> None: ...

    async def sweep(self, keep: AbstractSet[str]) -> None:
        """Delete all others."""


class ValuesObject(NamedTuple):
    """A Secret or ConfigMap that holds values. Its namespace is that of the account; None: the system namespace."""

    kind: str
    name: str
    account: Account | None = None


class ValuesObjects(Protocol):
    """The Secrets and ConfigMaps that charts take values from."""

    async def read(self, one: ValuesObject, client: Client) -> Mapping[str, bytes] | None:
        """Data that it holds now; None: it does not exist. A call for each change. `client`: with its account's rights.

        Raises AccessError where the account may not read it.
        """

    def retain(self, wanted: AbstractSet[ValuesObject]) -> None:
        """Forget what all others hold."""

    async def close(self) -> None:
        """Stop the watches."""


class DigestKeys(Protocol):
    async def get(self) -> DigestKey:
        """The key of digests that stand in statuses, the same for all replicas."""
