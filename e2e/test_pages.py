# ruff: noqa: S101 - pytest asserts
"""The pages for users, run: every command of a page prints what the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e import sessions
from e2e.conftest import remove_everything
from e2e.release import Release
from tools import chart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from e2e.kubectl import Kubectl

ROOT = Path(__file__).resolve().parent.parent
# Done by what runs this, with the same commands: the environment, the cluster, the image.
PREPARED = {
    "make env",
    "make image",
    ".venv/bin/python -m e2e.cluster up --node",
    ".venv/bin/python -m e2e.cluster load-image build/rukpak.tar",
    "export KUBECONFIG=$PWD/.cluster/kubeconfig",
}


@pytest.fixture
def _empty_cluster(kubectl: Kubectl, loaded_images: None) -> Iterator[None]:
    del loaded_images  # only has to have happened
    remove_everything(kubectl)
    yield
    remove_everything(kubectl)


def follow(page: str, environment: Mapping[str, str]) -> None:
    wrong = []
    for step in sessions.steps(page):
        if step.command in PREPARED:
            continue
        printed = sessions.run(step.command, folder=ROOT, environment=environment)
        if not sessions.agree(step.output, printed):
            wrong.append(f"$ {step.command}\n--- the page\n{step.output}\n--- the command\n{printed}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.usefixtures("_empty_cluster")
def test_pages_show_what_is_printed(kubectl: Kubectl, environment: Mapping[str, str]) -> None:
    """The quick start, and at the point where they assume the reader the pages on troubleshooting and adoption."""
    quick_start = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    others = [(ROOT / page).read_text(encoding="utf-8") for page in ("docs/troubleshooting.md", "docs/adoption.md")]
    installed, mark, rest = quick_start.partition("## 3. ")
    try:
        follow(installed, environment)
        for page in others:
            follow(page, environment)
        follow(mark + rest, environment)
    except AssertionError:
        print(Release(helm=chart.helm(), kubectl=kubectl).diagnosis())
        raise


@pytest.mark.usefixtures("_empty_cluster")
def test_tenant_installs_with_the_rights_of_an_account(kubectl: Kubectl, environment: Mapping[str, str]) -> None:
    """The page on least privilege, from the rights of an account to its removal, with the operator in mode narrow."""
    try:
        follow((ROOT / "docs/permissions.md").read_text(encoding="utf-8"), environment)
    except AssertionError:
        print(Release(helm=chart.helm(), kubectl=kubectl).diagnosis())
        raise
