"""`rukpakctl bundle build`."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from rukpak_py.cli.packaging import layouts, tools
from rukpak_py.cli.packaging.generating import carry_out, is_fit
from rukpak_py.cli.packaging.plan import PackagingOptions, generating_options, make_plan
from rukpak_py.cli.terminal import Exit, clean, epilog
from rukpak_py.sources.image.build import Image, image_of, layout_of
from rukpak_py.sources.image.reference import parse_reference


@click.command(
    epilog=epilog(
        no="the bundle has errors", failed="the manifests cannot be read, or the image cannot be written or pushed"
    )
)
@generating_options
@click.option("-o", "--overwrite", is_flag=True, help="Replace annotations.yaml and bundle.Dockerfile.")
@click.option("-t", "--tag", default="", metavar="NAME", help="The image's name. Default: that of --push.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR|FILE.tar",
    help="Where the OCI image layout goes: a directory, or an archive.",
)
@click.option("--push", default="", metavar="NAME", help="Push the image under this name: [REGISTRY/]REPOSITORY[:TAG].")
@click.option(
    "--plain-http/--no-plain-http",
    default=None,
    help="Push without TLS. Default: only to a registry on this machine's loopback.",
)
@click.option(
    "-b",
    "--tool",
    "--image-builder",
    default="",
    metavar="TOOL",
    shell_complete=lambda _context, _option, begun: [name for name in tools.NAMES if name.startswith(begun)],
    help=f"Build with {', '.join(tools.NAMES[:-1])} or {tools.NAMES[-1]} instead.",
)
@click.option("--skip-validation", is_flag=True, help="Build without checking the bundle.")
def build(
    *,
    tag: str,
    output: Path | None,
    push: str,
    plain_http: bool | None,
    tool: str,
    skip_validation: bool,
    **chosen: Any,
) -> int:
    """Build the image of a bundle, without a container engine.

    Writes annotations and Dockerfile as `generate` does, but keeps existing ones. Then checks the bundle, builds its
    image, and writes it, pushes it, or both. Prints the digest of the image: the same files give the same digest.
    """
    _check_usage(tag=tag, output=output, push=push, tool=tool, base_image=chosen["base_image"])
    if output is not None:
        layouts.check_output(output)
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if text and not (text.isascii() and text.isdigit() and len(text) <= 11):
        raise click.UsageError("SOURCE_DATE_EPOCH is not a number of seconds")
    created = int(text) if text else None
    plan = make_plan(PackagingOptions(**chosen))
    if output is not None:
        layouts.check_apart(output, plan.places)
    if not skip_validation and not is_fit(plan, sys.stderr):
        return Exit.NO
    for line in carry_out(plan):
        click.echo(line, err=True)
    if tool:
        tools.execute(tools.argv(tool, tag))
    else:
        image = image_of(plan.tree, labels=plan.labels.values(), created=created)
        _deliver(image, tag=tag, output=output, push=push, plain_http=plain_http)
    return Exit.OK


def _check_usage(*, tag: str, output: Path | None, push: str, tool: str, base_image: str) -> None:
    if tool:
        if not tools.is_supported(tool):
            raise click.UsageError(f"{tool} is not supported image builder")
        if output is not None or push:
            raise click.UsageError(f"--output and --push are for images that are made without {tool}")
        if not tag:
            raise click.UsageError("--tool needs --tag")
        return
    if output is None and not push:
        raise click.UsageError("give --output, --push or --tool")
    if base_image != "scratch":
        raise click.UsageError("--base-image needs --tool: without one the image holds the bundle and nothing else")
    for name in filter(None, (tag, push)):
        parse_reference(name)


def _deliver(image: Image, *, tag: str, output: Path | None, push: str, plain_http: bool | None) -> None:
    if output is not None:
        outcome = layouts.write_layout(layout_of(image, tag or push), output)
        click.echo(clean(f"{outcome} {output}"), err=True)
    if push:
        from rukpak_py.sources.image.push import push_image  # noqa: PLC0415 - only who pushes pays for the client

        reference = parse_reference(push)
        push_image(image, reference, plain_http=reference.is_on_loopback if plain_http is None else plain_http)
        click.echo(f"pushed {reference}", err=True)
    click.echo(image.digest)
