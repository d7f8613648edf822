"""`rukpakctl completion`: the script that makes a shell complete commands, options and paths."""

import click
from click.shell_completion import get_completion_class

from rukpak_py.cli.main import COMPLETE_VARIABLE, KUBECTL_NAME
from rukpak_py.cli.terminal import epilog

# \b tells click to keep the lines of a paragraph.
_HELP = """\
Print the completion script for a shell.

\b
bash: mkdir -p ~/.local/share/bash-completion/completions
      rukpakctl completion bash > ~/.local/share/bash-completion/completions/rukpakctl
zsh:  rukpakctl completion zsh > "${fpath[1]}/_rukpakctl"
fish: rukpakctl completion fish > ~/.config/fish/completions/rukpakctl.fish

`kubectl rukpak` needs none: it is completed by kubectl's own script.
"""
_SOURCE = {
    "bash": "source <(kubectl completion bash)",
    "zsh": "source <(kubectl completion zsh)",
    "fish": "kubectl completion fish | source",
}
_BY_KUBECTL = """\
# `kubectl rukpak` is completed by kubectl (1.26 or newer), whose own script has to be loaded in {shell}:
#     {source}
# It calls kubectl_complete-rukpak, which is installed beside kubectl-rukpak: both must be on the PATH.
# For the script of rukpakctl: rukpakctl completion {shell}"""


@click.command(help=_HELP, epilog=epilog())
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    context = click.get_current_context().find_root()
    if context.info_name == KUBECTL_NAME:
        click.echo(_BY_KUBECTL.format(shell=shell, source=_SOURCE[shell]))
        return
    found = get_completion_class(shell)
    if found is None:  # click knows these three
        raise click.UsageError(f"no completion for {shell}")
    click.echo(found(context.command, {}, "rukpakctl", COMPLETE_VARIABLE).source())
