"""A number of bytes that everything of a kind shares, in a process: what arrives on disk, what git has in memory.

When all shares together need more than the budget, the largest one that still grows fails with an `UnavailableError`
and is tried again later. So a server that sends a lot takes space from itself, not from others. Shares never wait for
the disk.
"""

from threading import Lock

from rukpak_py.core.errors import UnavailableError


class Budget:
    """`refusal`: what the error of the share that gives way says."""

    def __init__(self, most: int, *, refusal: str) -> None:
        self._most = most
        self._refusal = refusal
        self._lock = Lock()  # the event loop takes it
        self._growing: set[Share] = set()
        self.used = 0

    def share(self) -> "Share":
        share = Share(self)
        with self._lock:
            self._growing.add(share)
        return share

    def grow(self, share: "Share", size: int) -> None:
        """`share` needs `size` bytes in all from now on. UnavailableError when that is too much."""
        with self._lock:
            if not share.is_refused:
                self.used += size - share.size
                share.size = size
            stay = [one for one in self._growing if not one.is_refused]
            going = sum(one.size for one in self._growing if one.is_refused)
            if stay and self.used - going > self._most:
                max(stay, key=lambda one: one.size).is_refused = True
        if share.is_refused:
            raise UnavailableError(self._refusal)

    def settle(self, share: "Share") -> None:
        """Count the share as complete: it does not grow any more."""
        with self._lock:
            self._growing.discard(share)

    def release(self, share: "Share") -> None:
        with self._lock:
            self._growing.discard(share)
            share.is_refused = True  # a thread of a cancelled fetch may still write
            self.used -= share.size
            share.size = 0


class Share:
    """The bytes of one fetch. From one thread at a time."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.size = 0
        self.is_refused = False

    def add(self, size: int) -> None:
        self._budget.grow(self, self.size + size)

    def set(self, size: int) -> None:
        self._budget.grow(self, size)

    def settle(self) -> None:
        self._budget.settle(self)

    def release(self) -> None:
        self._budget.release(self)
