"""Content that a client uploads to the operator: see `upload_directory` for where it is, and `server` for how it comes.

Until it is there the Bundle waits. It is not retried, because the server that stores an upload wakes the Bundle.
"""

import asyncio

from rukpak_py.core.limits import Limits
from rukpak_py.sources.gzipped_tar import read_gzipped_tar
from rukpak_py.sources.ports import Workers
from rukpak_py.sources.source import ContentPendingError, Fetched, Fetcher, FetchRequest
from rukpak_py.sources.upload_directory import UploadDirectory, UploadedFor


class UploadFetcher(Fetcher):
    def __init__(self, uploads: UploadDirectory, limits: Limits, workers: Workers) -> None:
        self._uploads = uploads
        self._limits = limits
        self._workers = workers

    async def fetch(self, request: FetchRequest) -> Fetched:
        upload = UploadedFor(bundle=request.bundle, uid=request.uid)
        path = await asyncio.to_thread(self._uploads.path, upload)
        if path is None:
            raise ContentPendingError("waiting for bundle to be uploaded")
        await request.content_arrives()
        tree = await self._workers.run(
            read_gzipped_tar,
            path,
            self._limits,
            not_gzip="read response as gzip: ",
            not_tar="untar bundle contents from response: ",
        )
        return Fetched(tree=tree, resolved=request.source)
