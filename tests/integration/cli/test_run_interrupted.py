"""`rukpakctl run` is interrupted while it waits for an operator."""

import os
import signal
import subprocess
import uuid
from pathlib import Path

from e2e.kubectl import Kubectl
from tests.unit.cli.running import SAMPLES, program

UNSERVED = "--bundle-deployment-provisioner-class=nobody-serves-this"


def test_ctrl_c_ends_the_wait_quietly_and_leaves_what_was_applied(kubeconfig: Path, with_service: str) -> None:
    name = f"c{uuid.uuid4().hex[:9]}"
    command = [program(), "run", name, str(SAMPLES / "notes"), UNSERVED, f"--system-namespace={with_service}"]
    with subprocess.Popen(
        command,
        env=os.environ | {"KUBECONFIG": str(kubeconfig), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f'bundledeployment.core.rukpak.io "{name}" applied\n'
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")
    Kubectl.on(kubeconfig).run("delete", "bundledeployment", name)
