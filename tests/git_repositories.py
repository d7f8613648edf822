"""Bare repositories for tests, made with the real git."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TIME = "1700000000 +0000"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.com",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.com",
    "GIT_AUTHOR_DATE": TIME,
    "GIT_COMMITTER_DATE": TIME,
}


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Submodule:
    commit: str = "1" * 40


File = bytes | Link | Submodule


@dataclass(frozen=True, kw_only=True)
class Repository:
    path: Path

    @classmethod
    def create(cls, path: Path, *, object_format: str = "sha1") -> "Repository":
        repository = cls(path=path)
        path.mkdir(parents=True)
        repository.git("init", "--bare", "--quiet", "--initial-branch=main", f"--object-format={object_format}", ".")
        return repository

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, input=stdin, env=ENVIRONMENT, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, File], *, branch: str = "main", message: str = "change") -> str:
        """The branch has these files and no others; the answer is the hash."""
        ref = f"refs/heads/{branch}"
        stream = [f"commit {ref}\ncommitter T <t@example.com> {TIME}\n".encode(), _data(message.encode())]
        if self._has(ref):
            stream.append(f"from {ref}^0\n".encode())
        stream.append(b"deleteall\n")
        for path, file in files.items():
            match file:
                case Link():
                    stream.append(f"M 120000 inline {path}\n".encode() + _data(file.target.encode()))
                case Submodule():
                    stream.append(f"M 160000 {file.commit} {path}\n".encode())
                case _:
                    stream.append(f"M 100644 inline {path}\n".encode() + _data(file))
        self.git("fast-import", "--quiet", stdin=b"".join(stream))
        return self.git("rev-parse", ref)

    def history(self, count: int) -> list[str]:
        """That many commits, each of one file."""
        head = f"commit refs/heads/main\ncommitter T <t@example.com> {TIME}\ndata 1\nm\nM 100644 inline f\n".encode()
        self.git("fast-import", "--quiet", stdin=b"".join(head + _data(b"%d" % number) for number in range(count)))
        return self.git("rev-list", "main").split()

    def hostile_commit(self, entries: str, *, branch: str = "main") -> str:
        """Commit a tree as `git mktree` reads it, which checks nothing."""
        tree = self.git("mktree", "--missing", stdin=entries.encode())
        commit = self.git("commit-tree", "-m", "hostile", tree)
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=content)

    def _has(self, ref: str) -> bool:
        return bool(self.git("for-each-ref", ref))


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"
