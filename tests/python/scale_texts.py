#!/usr/bin/env python3
"""scale_texts.py FOLDER BYTES STRINGS PATH...: texts to compare tokenizers on. FOLDER/text-00000 and on hold BYTES of the files under
PATH, in an order by chance, FOLDER/fuzz-00000 and on STRINGS random ones; 64 MB a file, each text after its length in 8 bytes.

Files are read as UTF-8, unpacked where they end in .gz; of those that are not quite UTF-8, such as message catalogues, what is; of half
of those with markup, what is no tag. Where PATH has fewer bytes than are asked for, stretches of different files in a row make up for
them. SEED (1) is chance's. Exit codes: 0 ok.
"""

import gzip
import itertools
import os
import random
import re
import struct
import sys
import zlib

import check_tokenizers
from check_tokenizers import random_text

FILE_BYTES = 64 << 20
LONGEST_TEXT = 1 << 20  # in characters
LONGEST_FILE = 128 << 20  # the rest of it is not read
MARKUP, TAG = (".html", ".xml", ".page"), re.compile("<[^<>]*>")
MARKS = ["\u2581", "  ", "e\u0301", "\u1112\u1161\u11ab", "\U0001F469\u200D\U0001F469\u200D\U0001F467", "\U0001F1E9\U0001F1EA", "\0", "\x7f", "\r\n"]


class Writer:
    """Texts into files of FILE_BYTES, until there are enough."""

    def __init__(self, prefix):
        self.prefix, self.file, self.num_files = prefix, None, 0
        self.bytes = self.texts = 0

    def write(self, text):
        data = text.encode()
        if self.file is None or self.file.tell() + len(data) > FILE_BYTES:
            self.close()
            self.file = open(f"{self.prefix}-{self.num_files:05}", "wb")  # pylint: disable=consider-using-with
            self.num_files += 1
        self.file.write(struct.pack("<Q", len(data)) + data)
        self.bytes, self.texts = self.bytes + len(data), self.texts + 1

    def close(self):
        if self.file:
            self.file.close()


def read_texts(paths):
    """What Writer wrote, as bytes."""
    for path in paths:
        with open(path, "rb") as file:
            while length := file.read(8):
                yield file.read(*struct.unpack("<Q", length))


def files_under(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in os.walk(path):
            yield from (f"{folder}/{name}" for name in names if os.path.isfile(f"{folder}/{name}"))


def text_of(path):
    """Empty where the file is no text or cannot be read."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            data = file.read(LONGEST_FILE)
    except (OSError, EOFError, zlib.error):
        return ""
    text = data.decode(errors="ignore")
    return text if len(text.encode()) >= 0.95 * len(data) else ""


def write_files(writer, size, paths, generator):
    files = sorted(files_under(paths))
    generator.shuffle(files)
    for path in files:
        text = text_of(path)
        if generator.random() < 0.5 and path.endswith(MARKUP):
            text = TAG.sub("", text)
        for start in range(0, len(text), LONGEST_TEXT):
            if writer.bytes >= size:
                return
            writer.write(text[start:start + LONGEST_TEXT])


def first_texts(writer):
    writer.file.flush()
    return [text for data in itertools.islice(read_texts([f"{writer.prefix}-00000"]), 2000) if (text := data.decode())]


def stretch(texts, longest, generator):
    text = generator.choice(texts)
    begin = generator.randrange(len(text))
    return text[begin:begin + generator.randint(0, longest)]


def write_stretches(writer, size, texts, generator):
    while writer.bytes < size:
        writer.write("".join(stretch(texts, 2000, generator) for _ in range(100)))


def write_fuzz(writer, count, texts, generator):
    """Every other one lies amid real text."""
    check_tokenizers.MARKS += MARKS
    for i in range(count):
        text = random_text(generator)
        writer.write(stretch(texts, 60, generator) + text + stretch(texts, 60, generator) if i % 2 else text)


def main():
    folder, size, count, paths = sys.argv[1], int(float(sys.argv[2])), int(float(sys.argv[3])), sys.argv[4:]
    generator = random.Random(int(os.environ.get("SEED", "1")))
    texts, fuzz = Writer(f"{folder}/text"), Writer(f"{folder}/fuzz")
    write_files(texts, size, paths, generator)
    from_files = texts.bytes
    real = first_texts(texts)
    write_stretches(texts, size, real, generator)
    texts.close()
    write_fuzz(fuzz, count, real, generator)
    fuzz.close()
    print(f"{texts.bytes:,} bytes in {texts.texts:,} texts ({from_files:,} bytes of files), {fuzz.bytes:,} bytes in {fuzz.texts:,} random strings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
