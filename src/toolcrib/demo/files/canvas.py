"""A small picture with rectangles and letters, written as PNG without an imaging library."""

import struct
import unicodedata
import zlib

Colour = tuple[int, int, int]

# Five rows of three pixels a letter, top row first: one octal digit a row, its bits from left to right.
_LETTERS = {
    "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553",
    "H": "55755", "I": "72227", "J": "11152", "K": "55655", "L": "44447", "M": "57755", "N": "65555",
    "O": "25552", "P": "65644", "Q": "25563", "R": "65655", "S": "34216", "T": "72222", "U": "55557",
    "V": "55552", "W": "55775", "X": "55255", "Y": "55222", "Z": "71247", "0": "75557", "1": "26227",
    "2": "71747", "3": "71717", "4": "55711", "5": "74717", "6": "74757", "7": "71122", "8": "75757",
    "9": "75717", "-": "00700", ".": "00002", ",": "00024", ":": "02020", "/": "11244", "%": "51245",
    " ": "00000",
}  # fmt: skip

_UNKNOWN = "71202"


class Canvas:
    """A picture of a given size in pixels, filled with one colour."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self.width = width
        self.height = height
        self._rows = [bytearray(bytes(colour) * width) for _ in range(height)]

    def fill(self, left: int, top: int, width: int, height: int, colour: Colour) -> None:
        """Fill a rectangle; what lies outside the picture is left out."""
        start, stop = max(left, 0), min(left + width, self.width)
        if stop > start:
            for row in self._rows[max(top, 0) : max(top + height, 0)]:
                row[start * 3 : stop * 3] = bytes(colour) * (stop - start)

    def write(self, text: str, left: int, top: int, colour: Colour, scale: int) -> None:
        """Write capital letters; accents are dropped, unknown characters become question marks."""
        for place, letter in enumerate(_plain(text)):
            for row, bits in enumerate(_LETTERS.get(letter, _UNKNOWN)):
                for column in range(3):
                    if int(bits) >> (2 - column) & 1:
                        x = left + (place * 4 + column) * scale
                        self.fill(x, top + row * scale, scale, scale, colour)

    def png(self) -> bytes:
        """The picture as a PNG file: 8 bits a channel, RGB, no interlace (PNG, third edition, 11.2)."""
        header = struct.pack(">2I5B", self.width, self.height, 8, 2, 0, 0, 0)
        # Each row is preceded by its filter type, 0 for none.
        pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in self._rows), 9)
        chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + chunks


def width_of(text: str, scale: int) -> int:
    """How many pixels wide `Canvas.write` makes a text."""
    return max(len(_plain(text)) * 4 - 1, 0) * scale


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.upper())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
