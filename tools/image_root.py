"""The root of the operator's image: of the base only what the operator runs, with the libraries that it is linked to.

Runs in the build stage of the Dockerfile, with the Python of the base and its standard library alone:
`python3 image_root.py TARGET`. Neither a shell nor a package manager is in the result. For each Debian package of
which a file is left there are its status and its files in /var/lib/dpkg/status.d, where scanners look for them, and its
copyright.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VENV = Path("/opt/rukpak")
USER = 1001
# env and timeout run git; unpack pods copy busybox, and /opt/rukpak/bin/ls is a link to it.
PROGRAMS = ("git", "ssh", "env", "timeout", "/bin/busybox", "/usr/local/bin/helm")
GIT_PROGRAMS = ("git-remote-http", "git-remote-https")
FILES = (
    *("/etc/ld.so.cache", "/etc/nsswitch.conf", "/etc/os-release"),
    *("/etc/ssl", "/usr/lib/ssl", "/usr/share/ca-certificates"),
)
# Threads that end ask for it, and only then.
LOADED_LATE = ("libgcc_s.so.1",)
LEFT_OUT = {
    *(
        "__pycache__",
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idlelib",
        "tkinter",
        "turtledemo",
        "turtle.py",
    ),
    *("ensurepip", "venv", "lib2to3", "pydoc_data", "_tkinter", "_testcapi", "_testinternalcapi", "_testbuffer"),
    *(
        "sqlite3",
        "_sqlite3",
        "curses",
        "_curses",
        "_curses_panel",
        "readline",
        "dbm",
        "_dbm",
        "_gdbm",
        "nis",
        "distutils",
    ),
    *("xxlimited", "xxlimited_35", "_test_multiprocessing", "_testclinic", "_testimportmultiple", "_testmultiphase"),
}
# Of the package `kubernetes`: it loads credentials, and its types of the API are loaded when they are asked for.
TYPES_OF_API = ("kubernetes/aio", "kubernetes/client/models", "kubernetes/client/api")
SOURCES_OF_EXTENSIONS = (".c", ".cpp", ".h", ".pxd", ".pxi", ".pyi", ".pyx", ".tp")
USERS = "root:x:0:0:root:/:/nologin\nnobody:x:65534:65534:nobody:/:/nologin\nrukpak:x:{0}:{0}:rukpak:/tmp:/nologin\n"
GROUP = "root:x:0:\nnogroup:x:65534:\nrukpak:x:{0}:\n"


class Root:
    def __init__(self, target: Path) -> None:
        self._target = target
        self.taken: set[Path] = set()

    def take(self, path: Path) -> None:
        """Copy a file, or a directory with everything below it. Links are copied with what they lead to."""
        place = self._without_links(path.parent) / path.name
        if place in self.taken or _is_left_out(place):
            return
        if place.is_symlink():
            self._link(place)
            self.take(place.parent / place.readlink())
            return
        self.taken.add(place)
        copy = self.at(place)
        if place.is_dir():
            copy.mkdir(exist_ok=True)
            for one in sorted(place.iterdir()):
                self.take(one)
        else:
            shutil.copyfile(place, copy)
            copy.chmod(place.stat().st_mode & 0o755)  # neither setuid nor setgid

    def write(self, path: str, text: str) -> None:
        self.at(Path(path)).write_text(text, encoding="utf-8")

    def at(self, path: Path) -> Path:
        """The place below the target, whose directory is made."""
        place = self._target / path.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _link(self, place: Path) -> None:
        if place not in self.taken:
            self.taken.add(place)
            self.at(place).symlink_to(place.readlink())

    def _without_links(self, directory: Path) -> Path:
        """The real directory. Links on the way to it, as of /bin to usr/bin, are copied, and not what they lead to."""
        real = Path("/")
        for part in directory.absolute().parts[1:]:
            real /= part
            if real.is_symlink():
                self._link(real)
                real = real.resolve()
        return real


def _is_left_out(path: Path) -> bool:
    if VENV in path.parents:
        is_type = path.name != "__init__.py" and str(path.parent).endswith(TYPES_OF_API)
        return is_type or path.suffix in SOURCES_OF_EXTENSIONS
    return Path(sysconfig.get_path("stdlib")) in path.parents and (
        path.name.partition(".")[0] in LEFT_OUT or path.name.startswith("config-")
    )


def take_programs(root: Root) -> None:
    for program in PROGRAMS:
        root.take(Path(shutil.which(program) or program))
    git = Path(_output("git", "--exec-path").strip())
    for name in GIT_PROGRAMS:
        root.take(git / name)
    root.at(git / "git").symlink_to(shutil.which("git") or "")  # in the base a copy of it
    root.take(VENV)
    root.take(Path(sysconfig.get_path("stdlib")))
    root.take(Path(sysconfig.get_path("platstdlib")))


def take_libraries(root: Root) -> None:
    """Take the libraries of every program and every extension module."""
    for path in list(root.taken):
        if path.is_file() and not path.is_symlink() and _is_elf(path):
            for library in _libraries(path):
                root.take(library)
    folders = {path.parent for path in root.taken if path.name.startswith("libc.so.")}
    for folder in folders:
        for name in LOADED_LATE:
            root.take(folder / name)


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _libraries(path: Path) -> Iterator[Path]:
    """`NAME => PATH (ADDRESS)`, and of the loader `PATH (ADDRESS)`; of a static program nothing."""
    found = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    for line in found.stdout.splitlines():
        place = line.split(" => ")[-1].split(" (")[0].strip()
        if "not found" in line:
            raise SystemExit(f"{path} needs a library that the base does not have: {line.strip()}")
        if place.startswith("/") and VENV not in Path(place).parents:
            yield Path(place)


def strip_modules(root: Root) -> None:
    """Half of what wheels with compiled modules bring is for debuggers. What is left is loaded once, as a check."""
    modules = [str(root.at(path)) for path in root.taken if VENV in path.parents and ".so" in path.suffixes]
    subprocess.run(["strip", "--strip-unneeded", *modules], check=True)
    load = "import ctypes, sys; [ctypes.CDLL(path) for path in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", load, *modules], check=True)


def write_users_and_directories(root: Root) -> None:
    root.write("/etc/passwd", USERS.format(USER))
    root.write("/etc/group", GROUP.format(USER))
    for name in ("dev", "proc", "sys", "run", "tmp", "var/cache/bundles"):
        root.at(Path("/", name)).mkdir(exist_ok=True)
    root.at(Path("/tmp")).chmod(0o1777)  # noqa: S108 - of the image
    os.chown(root.at(Path("/var/cache/bundles")), USER, USER)


def compile_modules(root: Root) -> None:
    """The root file system is read-only later; these sources never change, so nothing is checked."""
    target = root.at(Path("/"))
    modes = ["--invalidation-mode", "unchecked-hash", "-j", "0", "-q", "-s", str(target), "-p", "/"]
    folders = [str(root.at(Path(place))) for place in {sysconfig.get_path("stdlib"), str(VENV / "lib")}]
    subprocess.run([sys.executable, "-m", "compileall", *modes, *folders], check=True)


def describe_packages(root: Root) -> None:
    if not shutil.which("dpkg-query"):
        return
    root.at(Path("/var/lib/dpkg/status.d/x"))
    files = [path for path in root.taken if VENV not in path.parents and not path.is_dir()]
    for name, owned in sorted(_files_by_owner(files).items()):
        root.write(f"/var/lib/dpkg/status.d/{name}", _output("dpkg-query", "--status", name))
        sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {str(path)[1:]}\n" for path in sorted(owned)]  # noqa: S324 - the form of dpkg
        root.write(f"/var/lib/dpkg/status.d/{name}.md5sums", "".join(sums))
        copyright_of = Path("/usr/share/doc", name, "copyright")
        if copyright_of.exists():
            root.take(copyright_of)


def _files_by_owner(paths: Iterable[Path]) -> dict[str, set[Path]]:
    """Files of merged directories are registered with either name: /usr/lib/x, or /lib/x."""
    names = {name: path for path in paths for name in (str(path), str(path).removeprefix("/usr"))}
    found = subprocess.run(["dpkg-query", "--search", *names], capture_output=True, text=True, check=False)
    owned: dict[str, set[Path]] = {}
    for line in found.stdout.splitlines():
        packages, _, path = line.partition(": ")
        if path in names and not packages.startswith("diversion"):
            for package in packages.split(", "):
                owned.setdefault(package.partition(":")[0], set()).add(names[path])
    return owned


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    root = Root(Path(sys.argv[1]))
    take_programs(root)
    take_libraries(root)
    for name in FILES:
        if Path(name).exists():
            root.take(Path(name))
    describe_packages(root)
    strip_modules(root)
    write_users_and_directories(root)
    compile_modules(root)


if __name__ == "__main__":
    main()
