#!/usr/bin/env python3
"""check_at_scale.py ENCODE_TEXTS FOLDER [TOKENIZER...]: hold ENCODE_TEXTS's ids and decoded texts to those of Hugging Face's
tokenizers, tiktoken, sentencepiece and (where it is installed) mistral-common, on what scale_texts.py left in FOLDER.

TOKENIZER is a tokenizer.json, a SentencePiece NAME.model, a tekken.json or tiktoken's ranks, NAME.tiktoken, split as NAME says (gpt2,
cl100k, o200k, llama3, qwen2); models and ranks are compared as the tokenizer.json that dt-shard-data makes of them, too. Without any, one
of each kind is trained on the texts. On the first file of texts, dt-shard-data's ids are held to ENCODE_TEXTS's. A format stops at its first
difference. Memory does not depend on how much text there is.

FORMATS: a regular expression; only formats whose name has it. VERBOSE: says how far it is.

Exit codes: 0 all equal, 1 otherwise.
"""

import array
import glob
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import time

os.environ |= {"RAYON_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true"}  # read once, by what the next line imports

from scale_formats import given_formats, scratch, trained_formats  # pylint: disable=wrong-import-position
from scale_texts import read_texts  # pylint: disable=wrong-import-position

BATCH_BYTES, BATCH_TEXTS = 4 << 20, 10000


def batches(texts):
    batch, size = [], 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH_BYTES or len(batch) == BATCH_TEXTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def take(file, size):
    """encode_texts' ids (size 4) or text (size 1)."""
    head = file.read(8)
    if len(head) < 8:
        raise Difference("encode_texts ended before its input")
    return file.read(struct.unpack("<Q", head)[0] * size)


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def describe_ids(text, ours, theirs):
    at = first_difference(ours, theirs)
    near = int(len(text) * at / max(len(ours), 1))
    return (f"ids differ from the {at + 1}th on: {ours[max(at - 8, 0):at + 12]}, not {theirs[max(at - 8, 0):at + 12]}\n"
            f"of a text of {len(text):,} bytes, around byte {near:,}: {text[max(near - 1500, 0):near + 1500]!r}")


def describe_decoded(text, ours, theirs):
    at = first_difference(ours, theirs)
    return (f"ids decode to something else from byte or character {at + 1:,} on: {ours[max(at - 20, 0):at + 40]!r}, not {theirs[max(at - 20, 0):at + 40]!r}\n"
            f"of a text of {len(text):,} bytes, around it: {text[max(at - 1500, 0):at + 1500]!r}")


class Difference(Exception):
    pass


class Comparison:
    """Of a format's two sides, text after text."""

    def __init__(self, format):
        self.format, self.start, self.others_seconds = format, time.monotonic(), 0.0
        self.bytes = self.texts = self.ids = 0

    def compare(self, program, files):
        with subprocess.Popen(["cat", *files], stdout=subprocess.PIPE) as source, \
             subprocess.Popen([program, *self.format.arguments], stdin=source.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ours:
            source.stdout.close()
            try:
                for batch in batches(read_texts(files)):
                    self.compare_batch(batch, ours.stdout)
                ours_seconds = float(ours.stderr.read())
            except Difference as difference:
                ours.kill()
                raise Difference(f"after {self.bytes:,} bytes and {self.texts:,} texts: {difference}") from difference
        return (f"{self.bytes:,} bytes, {self.texts:,} texts, {self.ids:,} ids, 0 differences; {ours_seconds:.0f} s of one thread, "
                f"the other {self.others_seconds:.0f} s of at most two, {time.monotonic() - self.start:.0f} s in all")

    def compare_batch(self, batch, out):
        start = time.monotonic()
        expected = self.format.encode([text.decode() for text in batch])
        self.others_seconds += time.monotonic() - start
        decoded = self.format.decode(expected) if self.format.decode else itertools.repeat(None)
        for text, theirs, theirs_decoded in zip(batch, expected, decoded):
            ids, back = take(out, 4), take(out, 1)
            if ids != array.array("I", theirs).tobytes():
                raise Difference(describe_ids(text, list(array.array("I", ids)), theirs))
            ours, other = (back, text) if theirs_decoded is None else (back.decode(errors="replace"), theirs_decoded)
            if ours != other:
                raise Difference(describe_decoded(text, ours, other))
        self.bytes, self.texts, self.ids = self.bytes + sum(map(len, batch)), self.texts + len(batch), self.ids + sum(map(len, expected))
        if "VERBOSE" in os.environ:
            print(f"{self.format.name}: {self.bytes:,} bytes", file=sys.stderr, flush=True)


def documents(file):
    """Its texts, then all of them as one, which the tool cuts for its threads."""
    yield from filter(None, read_texts([file]))
    yield b"".join(read_texts([file]))


def write_documents(file, framed, lines):
    with open(framed, "wb") as frames, open(lines, "w", encoding="ascii") as json_lines:
        for text in documents(file):
            frames.write(struct.pack("<Q", len(text)) + text)
            json_lines.write(json.dumps({"text": text.decode()}) + "\n")


def compare_tool(program, format, file):
    """The tool's ids to ENCODE_TEXTS's, which are the others'. Errors: Difference."""
    framed, lines = f"{scratch.name}/framed", f"{scratch.name}/documents.jsonl"
    write_documents(file, framed, lines)
    tool_command = ["dt-shard-data", "--encode-only", "--quiet", "--no-append-eos", "--threads", "3", *format.tool_options, lines]
    with open(framed, "rb") as frames, subprocess.Popen(tool_command, stdout=subprocess.PIPE) as tool, \
         subprocess.Popen([program, *format.arguments], stdin=frames, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as encoder:
        for text in read_texts([framed]):
            ids = array.array("I", take(encoder.stdout, 4)).tolist()
            take(encoder.stdout, 1)
            if not ids:
                continue  # of which no dataset holds anything
            line = list(map(int, tool.stdout.readline().split()))
            if line != ids:
                encoder.kill()
                tool.kill()
                raise Difference(f"--encode-only: {describe_ids(text, line, ids)}")


def check(program, format, text_files, fuzz_files):
    """Whether all are equal."""
    try:
        totals = Comparison(format).compare(program, fuzz_files + text_files)
        compare_tool(program, format, text_files[0])
    except Difference as difference:
        print(f"{format.name}: {difference}", file=sys.stderr)
        return False
    print(f"{format.name}: {totals}", flush=True)
    return True


def main():
    program, folder, *tokenizers = sys.argv[1:]
    text_files, fuzz_files = sorted(glob.glob(f"{folder}/text-*")), sorted(glob.glob(f"{folder}/fuzz-*"))
    wanted = re.compile(os.environ.get("FORMATS", ""))
    formats = given_formats(tokenizers) if tokenizers else trained_formats(text_files)
    equal = [check(program, format, text_files, fuzz_files) for format in formats if wanted.search(format.name)]
    return 0 if equal and all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
