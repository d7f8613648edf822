"""The installed command line, as a user calls it, on a control plane."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from e2e.cluster.control_plane import ControlPlane

Done = subprocess.CompletedProcess[str]


async def rukpakctl(plane: ControlPlane, *arguments: str, kubeconfig: Path | None = None) -> Done:
    """`kubeconfig`: of another user than the admin."""

    def run() -> Done:
        return subprocess.run(
            [Path(sys.executable).parent / "rukpakctl", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "1000", "KUBECONFIG": str(kubeconfig or plane.kubeconfig)},
        )

    return await asyncio.to_thread(run)
