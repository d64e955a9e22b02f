"""An embedder of your own: searching by meaning with whatever turns texts into vectors.

This one counts the groups of three letters in a text, so that it needs no model; in `embed_documents`, put the call of
a real one. Run it with: python examples/own_embedder.py
"""

import asyncio
import zlib
from collections.abc import Sequence

import numpy as np
from mcp import Client

from toolcrib import Crib
from toolcrib.demo.notes import APP as NOTES
from toolcrib.demo.tickets import APP as TICKETS
from toolcrib.search import make_searcher
from toolcrib.search.embedders import Embedder, Matrix


class Letters(Embedder):
    """Texts that share groups of letters are near, also across languages and slips."""

    # Vectors are kept under this name between runs: change it with whatever changes them.
    name = "letters-512"
    dimension = 512

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """[texts, dimension] The share of each group of three letters, which a checksum puts into its place."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            letters = f"  {text.lower()}  "
            for place in range(len(letters) - 2):
                group = letters[place : place + 3].encode("utf-8", "replace")
                vectors[row, zlib.crc32(group) % self.dimension] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


async def main() -> None:
    async with Client(TICKETS.server()) as tickets, Client(NOTES.server()) as notes:
        # "hybrid" searches by words and by meaning, "semantic" by meaning alone.
        searcher = make_searcher("semantic", embedder=Letters())
        async with Crib.from_clients({"tickets": tickets, "notes": notes}, searcher=searcher) as crib:
            for query in ("tickett asigning", "Notizen exportieren", "delete the note"):
                answer = await crib.search(query, limit=2)
                print(f"{query}: {', '.join(found.tool.id for found in answer.found)}")


if __name__ == "__main__":
    asyncio.run(main())
