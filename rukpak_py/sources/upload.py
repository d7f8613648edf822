"""Content that a client uploads to the operator: see `upload_directory` for where it is, and `server` for how it comes.

Until it is there the Bundle waits; nothing is asked again, because whoever stores an upload wakes the Bundle.
"""

import asyncio

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.core.limits import Limits
from rukpak_py.sources.archive_file import ArchiveFile
from rukpak_py.sources.source import ContentPendingError, Fetched, FetchRequest
from rukpak_py.sources.upload_directory import UploadDirectory, UploadedFor


class UploadFetcher:
    def __init__(self, uploads: UploadDirectory, limits: Limits) -> None:
        self._uploads = uploads
        self._limits = limits

    def lane(self, _source: Source) -> str:
        return SourceType.UPLOAD

    async def fetch(self, request: FetchRequest) -> Fetched:
        upload = UploadedFor(bundle=request.bundle, uid=request.uid)
        file = await asyncio.to_thread(self._uploads.find, upload)
        if file is None:
            raise ContentPendingError("waiting for bundle to be uploaded")
        with ArchiveFile(self._limits, file) as archive:
            await request.content_arrives()
            tree = await archive.tree(
                not_gzip="read response as gzip: ", not_tar="untar bundle contents from response: "
            )
        return Fetched(tree=tree, resolved=request.source)
