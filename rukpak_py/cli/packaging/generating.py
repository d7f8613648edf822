"""A plan carried out: its files written, and a line told for each."""

from collections.abc import Iterator

from rukpak_py.cli.packaging import files
from rukpak_py.cli.packaging.plan import Plan, shown
from rukpak_py.cli.terminal import clean


def carry_out(plan: Plan) -> Iterator[str]:
    if (inferred := plan.inferred) is not None:
        labels = plan.labels
        default = f", default channel {labels.default_channel}" if labels.default_channel else ""
        found = f"package {labels.package}, channels {labels.channels}{default}"
        yield clean(f"inferred {found} (with {inferred.manifest})")
    for file in plan.files:
        outcome = files.write(file.path, file.content, mode=file.mode)
        yield clean(f"{outcome} {shown(file.path)}")
        yield from (clean(f"dropped from {shown(file.path)}: {what}") for what in file.lost)
    for kept in plan.kept:
        yield clean(f"kept {kept}")
