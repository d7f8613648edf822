"""`rukpakctl completion`: the script that makes a shell complete commands, options and paths."""

import click
from click.shell_completion import get_completion_class

from rukpak_py.cli.main import COMPLETE_VARIABLE

# \b tells click to keep the lines of a paragraph.
_HELP = """\
Print the completion script for a shell.

\b
bash: rukpakctl completion bash > ~/.local/share/bash-completion/completions/rukpakctl
zsh:  rukpakctl completion zsh > "${fpath[1]}/_rukpakctl"
fish: rukpakctl completion fish > ~/.config/fish/completions/rukpakctl.fish
"""


@click.command(help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    found = get_completion_class(shell)
    if found is None:  # click knows these three
        raise click.UsageError(f"no completion for {shell}")
    context = click.get_current_context().find_root()
    click.echo(found(context.command, {}, "rukpakctl", COMPLETE_VARIABLE).source())
