"""`rukpakctl catalog fmt`."""

from collections.abc import Sequence

import click

from rukpak_py.cli.catalogs.flags import load_options
from rukpak_py.cli.terminal import Exit, clean, epilog, print_error, print_hint, print_warning


@click.command(
    short_help="Format the files of catalogs in place.",
    epilog=epilog(no="files are not formatted, with --check", failed="a file cannot be read or written"),
)
@click.argument("catalogs", nargs=-1, required=True, type=click.Path(), metavar="DIRECTORY|FILE...")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when a file is not formatted.")
@click.option("--drop-comments", is_flag=True, help="Also files with comments, which are lost.")
def fmt(*, catalogs: tuple[str, ...], check: bool, drop_comments: bool) -> int:
    """Format the files of catalogs in place: one order of blobs and fields, one indentation.

    JSON becomes what `opm render` prints, but keeps fields that no schema has. YAML has the fields in the same order.
    Anchors are written out. A file with comments is left as it is, with a warning, because they would be lost.
    """
    from rukpak_py.cli.catalogs import formatting  # noqa: PLC0415 - help and completion do not need it

    options = load_options(no_cache=True, jobs=None)
    is_changed, are_failed = False, False
    for one in formatting.format_files(catalogs, options, drop_comments=drop_comments):
        match one:
            case formatting.Failed():
                print_error(f"{one.location}: {one.reason}")
                print_hint(one.hint)
                are_failed = True
            case formatting.Commented():
                print_warning(
                    f"{one.path}: left as it is: formatting would lose its comments "
                    f"({named_lines(one.lines)}); --drop-comments formats it without them"
                )
            case formatting.Changed():
                is_changed = True
                if check:
                    click.echo(clean(f"{one.path} is not formatted"))
                else:
                    one.write()
                    click.echo(clean(f"formatted {one.path}"))
    if are_failed:
        return Exit.FAILED
    return Exit.NO if check and is_changed else Exit.OK


def named_lines(lines: Sequence[int]) -> str:
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
