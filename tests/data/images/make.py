"""Makes the small images of this folder and `expected.json`: what their pixels are as 8-bit red, green and blue.

Pillow writes the files and says what is in them; rgb16.png, which it cannot write, is put together by hand. Made with Pillow 13.0.0 and
NumPy 2.4.6: python make.py
"""

import json
import struct
import zlib

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 5, 3
random = np.random.default_rng(8)
expected = {}


def bytes_of(*shape):
    return random.integers(0, 256, (HEIGHT, WIDTH, *shape), dtype=np.uint8)


def keep(name, rgb):
    expected[name] = {"width": WIDTH, "height": HEIGHT, "rgb": np.asarray(rgb, dtype=np.uint8).ravel().tolist()}


def save(name, image, **options):
    image.save(name, **options)
    keep(name, Image.open(name).convert("RGB"))


def rounded(words):
    """16 bits as 8: the nearest of the 256 levels, which lie 257 apart."""
    return np.rint(words / 257).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


rgb = Image.fromarray(bytes_of(3))
grey = Image.fromarray(bytes_of())
save("rgb.png", rgb)
save("rgb.bmp", rgb)
save("grey.png", grey)
save("grey.bmp", grey)
save("grey_alpha.png", Image.fromarray(bytes_of(2), "LA"))
save("rgba.png", Image.fromarray(bytes_of(4)))
save("palette.png", rgb.quantize(7))
save("palette.bmp", rgb.quantize(7))
save("palette_transparent.png", rgb.quantize(7), transparency=3)
save("bilevel.png", grey.point(lambda value: 255 * (value > 127)).convert("1"))

words = random.integers(0, 65536, (HEIGHT, WIDTH), dtype=np.uint16)
Image.fromarray(words).save("grey16.png")
keep("grey16.png", np.repeat(rounded(words)[..., None], 3, axis=2))

words = random.integers(0, 65536, (HEIGHT, WIDTH, 3), dtype=np.uint16)
rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in words)
with open("rgb16.png", "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n")
    file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, 2, 0, 0, 0)))
    file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
keep("rgb16.png", rounded(words))

# Decoders of JPEG differ by a level or so, so that only one colour is asked of it.
for name, image in [("red.jpg", Image.new("RGB", (WIDTH, HEIGHT), (200, 30, 60))), ("grey.jpg", Image.new("L", (WIDTH, HEIGHT), 99))]:
    save(name, image, quality=95)

with open("expected.json", "w") as file:
    json.dump(expected, file, indent=None, separators=(",", ":"))
    file.write("\n")
