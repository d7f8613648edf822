"""Templates with their bundles pulled: several at once, each image once, all failures told."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from rukpak_py.catalog.making.templates import read_template
from rukpak_py.catalog.model import Bundle, Catalog
from rukpak_py.catalog.rendering import rendered
from rukpak_py.cli.catalogs.opening import OpenedBundle, open_reference
from rukpak_py.cli.catalogs.rendering import RenderOptions, bundle_of
from rukpak_py.core.errors import ContentError, RukPakError

_PULLS: Final = 4  # at a time


def rendered_template(data: bytes, options: RenderOptions, *, allow_directories: bool = False) -> Catalog:
    """The catalog of a basic template. `allow_directories`: an `image` may be the path of a bundle."""
    template = read_template(data, limits=options.load.of_files)
    bundle = partial(_bundle, options=options, allow_directories=allow_directories)
    with ThreadPoolExecutor(options.load.jobs or _PULLS) as executor:
        answers = dict(zip(template.images, executor.map(bundle, template.images), strict=True))
    failures = [str(answer) for answer in answers.values() if isinstance(answer, RukPakError)]
    if failures:
        raise ContentError("\n".join(failures))
    return rendered(template.rendered({image: one for image, one in answers.items() if isinstance(one, Bundle)}))


def _bundle(image: str, options: RenderOptions, *, allow_directories: bool) -> Bundle | RukPakError:
    try:
        if Path(image).is_dir() and not allow_directories:
            raise ContentError(f"{image}: is a directory, not an image: --allow-directories takes it")
        opened = open_reference(image, options.load.limits)
        if not isinstance(opened, OpenedBundle):
            raise ContentError(f"{image}: is a catalog, not a bundle")
        return bundle_of(opened, options)
    except RukPakError as error:
        return error
