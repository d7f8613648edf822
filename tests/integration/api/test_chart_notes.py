"""Notes that `helm install` prints at its end, for the cluster as it is; nothing is installed."""

import asyncio
import subprocess

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.formats.helm.process import HelmProgram
from tools import chart

LOST = "The storage of the operator goes with its pod."


async def notes(helm: HelmProgram, plane: ControlPlane, *settings: str) -> str:
    command = [helm.path, "install", "rukpak", str(chart.CHART), f"--namespace={chart.NAMESPACE}", "--dry-run=client"]
    flags = ["--take-ownership", f"--kubeconfig={plane.kubeconfig}", *(f"--set={setting}" for setting in settings)]

    def run() -> str:
        return subprocess.run([*command, *flags], check=True, capture_output=True, text=True).stdout

    return (await asyncio.to_thread(run)).partition("\nNOTES:\n")[2]


async def test_notes_name_losses_with_storage_that_goes_with_the_pod(helm: HelmProgram, plane: ControlPlane) -> None:
    printed = await notes(helm, plane)
    assert LOST in printed
    assert "randAlphaNum" in printed
    assert "storage.existingClaim" in printed
    assert LOST not in await notes(helm, plane, "storage.existingClaim=claim")


async def test_notes_have_the_commands_of_an_upload(helm: HelmProgram, plane: ControlPlane) -> None:
    printed = await notes(helm, plane)
    for command in ("get secret rukpak-ca", "port-forward service/core", "--upload-file", "rukpakctl run"):
        assert command in printed


async def test_notes_begin_with_the_mode_and_its_risk(helm: HelmProgram, plane: ControlPlane) -> None:
    classic = (await notes(helm, plane)).split("1. ")[0]
    assert "Mode: classic." in classic
    assert "may do everything" in classic
    tenants = ("tenants[0].namespace=shop", "tenants[0].serviceAccounts={a,b}", "tenants[1].namespace=blog")
    narrow = await notes(helm, plane, "mode=narrow", *tenants)
    head = narrow.split("1. ")[0]
    assert "Mode: narrow." in head
    assert "shop: a, b\n" in head
    assert "blog: all of them\n" in head
    assert "kind: BundleDeployment" not in narrow, "this one would be refused"
