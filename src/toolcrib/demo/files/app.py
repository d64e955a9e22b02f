"""The file library as a server: its tools and its resources. It has no prompts."""

import base64
import re

from mcp_types import BlobResourceContents, Resource, ResourceTemplate, TextResourceContents

from toolcrib.demo.app import DemoApp, Resources
from toolcrib.demo.files.reading import tools as reading
from toolcrib.demo.files.shapes import PATH, URI_PREFIX, uri_of
from toolcrib.demo.files.store import FileStore, is_text, media_type, open_store
from toolcrib.demo.files.writing import tools as writing
from toolcrib.demo.toolbox import Toolbox


def _every(store: FileStore) -> list[Resource]:
    return [
        Resource(
            uri=uri_of(file["path"]),
            name=file["path"],
            mime_type=file["media_type"],
            size=file["bytes"],
        )
        for file in store.files()
    ]


def _read(store: FileStore, uri: str) -> TextResourceContents | BlobResourceContents | None:
    path = uri.removeprefix(URI_PREFIX)
    if not uri.startswith(URI_PREFIX) or not re.fullmatch(PATH["pattern"], path) or not store.has(path):
        return None
    kind = media_type(path)
    if is_text(path):
        return TextResourceContents(uri=uri, mime_type=kind, text=store.text(path))
    blob = base64.b64encode(store.content(path)).decode()
    return BlobResourceContents(uri=uri, mime_type=kind, blob=blob)


APP = DemoApp(
    name="files",
    title="File library",
    instructions=(
        "A small library of files: papers, tables, settings and logs. It is a demonstration and never touches "
        "the disk's own files."
    ),
    tools=Toolbox(reading, writing),
    open_store=open_store,
    resources=Resources(
        every=_every,
        templates=(
            ResourceTemplate(
                uri_template=URI_PREFIX + "{+path}",
                name="file",
                title="File",
                description="One file of the library, as text or bytes.",
            ),
        ),
        read=_read,
    ),
)
