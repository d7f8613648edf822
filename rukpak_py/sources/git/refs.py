"""The revision of a repository that a source asks for: a branch, a tag, a commit, or the default branch."""

import re
from dataclasses import dataclass
from enum import Enum

from rukpak_py.api.source_types import GitRef
from rukpak_py.core.errors import ContentError

LOCAL_REF = "refs/rukpak/content"  # where what is fetched goes in our own repository
_SHA1, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_ABBREVIATED = re.compile(r"[0-9a-f]{4,63}")
# What `git check-ref-format` refuses.
_BAD_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|^[./]|[./]$|\.lock(/|$)|^@$")
_LONGEST = 1024


class RefKind(Enum):
    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"
    DEFAULT = "default branch"


@dataclass(frozen=True, kw_only=True)
class Revision:
    """`name` is what the user wrote; the hash of a commit is in lower case."""

    kind: RefKind
    name: str = ""

    @property
    def is_full_commit(self) -> bool:
        return self.kind is RefKind.COMMIT and any(form.fullmatch(self.name) for form in (_SHA1, _SHA256))

    @property
    def object_format(self) -> str:
        """The object format of the repository, as far as the name tells."""
        return "sha256" if self.kind is RefKind.COMMIT and len(self.name) > 40 else "sha1"

    @property
    def remote_ref(self) -> str:
        match self.kind:
            case RefKind.BRANCH:
                return f"refs/heads/{self.name}"
            case RefKind.TAG:
                return f"refs/tags/{self.name}"
            case RefKind.COMMIT:
                return self.name
            case RefKind.DEFAULT:
                return "HEAD"

    @property
    def refspecs(self) -> tuple[str, ...]:
        return (f"+{self.remote_ref}:{LOCAL_REF}",)

    def missing(self, repository: str) -> ContentError:
        if self.kind is RefKind.COMMIT:
            return _commit_error(self.name, f"repository {repository!r} has no such commit")
        what = f'{self.kind.value} "{self.name}"' if self.name else "commit yet"
        return ContentError(
            f'bundle unpack git clone error: couldn\'t find remote ref "{self.remote_ref}": '
            f"repository {repository!r} has no {what}"
        )

    def ambiguous(self) -> ContentError:
        return _commit_error(self.name, "several commits start like this: give more of the hash")


# All branches and tags: for commits that the server does not send by their hash.
EVERYTHING = ("+refs/heads/*:refs/rukpak/heads/*", "+refs/tags/*:refs/rukpak/tags/*")


def revision_of(ref: GitRef) -> Revision:
    """Read the ref. Of several members, which older objects may have, the original took the commit last of all."""
    if ref.commit:
        commit = ref.commit.lower()
        if not (_SHA256.fullmatch(commit) or _ABBREVIATED.fullmatch(commit)):
            raise _commit_error(ref.commit[:100], "not a hash of 4 to 40 hexadecimal digits, or 64 with SHA-256")
        return Revision(kind=RefKind.COMMIT, name=commit)
    for kind, name in ((RefKind.BRANCH, ref.branch), (RefKind.TAG, ref.tag)):
        if name:
            if len(name) > _LONGEST or _BAD_NAME.search(name):
                raise ContentError(
                    f"bundle unpack git clone error: {name[:100]!r} is not a valid name of a {kind.value}"
                )
            return Revision(kind=kind, name=name)
    return Revision(kind=RefKind.DEFAULT)


def _commit_error(name: str, reason: str) -> ContentError:
    return ContentError(f'checkout commit "{name}": {reason}')
