"""Groups whose commands are imported when they are used, so that every start pays for one command only."""

from importlib import import_module
from typing import Any

import click

from rukpak_py.cli.exits import epilog


class LazyGroup(click.Group):
    """`commands_at` maps the name of a command to `module:attribute`; commands can be added as usual, too."""

    def __init__(self, *args: Any, commands_at: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, epilog=epilog(others="; others: see the command"), **kwargs)
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._commands_at})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._commands_at:
            module, _, attribute = self._commands_at[cmd_name].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        return super().get_command(ctx, cmd_name)
