"""Identity of a finding of a bundle, which edits elsewhere in its file do not change."""

from rukpak_py.core.findings import Finding


def line_of(finding: Finding) -> str:
    """One line, without the number of a line of the manifest."""
    place = " ".join(part for part in (finding.file, finding.path) if part)
    return f"{finding.rule} {place}: {' '.join(finding.message.split())}"
