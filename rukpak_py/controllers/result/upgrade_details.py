"""Details of facts about an upgrade that may not begin yet."""

from rukpak_py.controllers.result.progress import Detail, Objects

REVIEWS = 5  # reasons for a review that a message names


class UpgradePending(Detail, frozen=True, kw_only=True):
    """`counts`: what changes, in words. `reviews`: why it is not safe, if so. `opens`: when its window does."""

    deployment: str
    bundle: str
    version: str = ""
    digest: str
    counts: str
    verdict: str
    reviews: tuple[str, ...] = ()

    def text(self, objects: Objects, /) -> str:
        lines = [self.brief(objects), f"It is {self.counts}; verdict {self.verdict}"]
        lines += [f"- {one}" for one in self.reviews[:REVIEWS]]
        if len(self.reviews) > REVIEWS:
            lines.append(f"- and {len(self.reviews) - REVIEWS} more")
        return "\n".join(lines)

    @property
    def upgrade(self) -> str:
        of = f" ({self.version})" if self.version else ""
        return f"the upgrade to {self.bundle}{of}"

    def brief(self, _: Objects, /) -> str:
        return (
            f"{self.upgrade} waits for an approval; `rukpakctl plan {self.deployment}` shows its plan, and"
            f" `rukpakctl approve {self.deployment}` approves it"
        )


class DependencyNotReady(UpgradePending, frozen=True, kw_only=True):
    """`unmet`: text about the dependencies."""

    unmet: str

    def brief(self, _: Objects, /) -> str:
        return f"{self.upgrade} may not begin: {self.unmet}"


class OutsideWindow(UpgradePending, frozen=True, kw_only=True):
    """`opens`: when the next window does; empty: none ever does. `wrong`: windows that cannot be read."""

    opens: str = ""
    wrong: tuple[str, ...] = ()

    def brief(self, _: Objects, /) -> str:
        when = f"which opens at {self.opens}" if self.opens else "and none of spec.upgrades.windows ever opens"
        wrong = f" ({'; '.join(self.wrong)})" if self.wrong else ""
        return (
            f"{self.upgrade} waits for its window, {when}{wrong}; to begin at once, approve it with `rukpakctl approve"
            f" {self.deployment} --now`"
        )


class UpgradeRolledBack(Detail, frozen=True, kw_only=True):
    """`bundle`: the one whose content failed. `revision`: of the history, which was installed again."""

    bundle: str
    revision: int
    reason: str

    def text(self, _: Objects, /) -> str:
        return (
            f"the upgrade to {self.bundle} was not healthy in time and was undone: revision {self.revision} is"
            " installed again, and the upgrade is not tried again until its content or its options change"
            f" (it failed with: {self.reason})"
        )


class RollbackRefused(Detail, frozen=True, kw_only=True):
    """`bundle`: the one whose content is not healthy in time."""

    bundle: str
    reason: str

    def text(self, _: Objects, /) -> str:
        return (
            f"the upgrade to {self.bundle} was not healthy in time and stays, because the revision before it cannot be"
            f" installed again: {self.reason}"
        )
