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
import base64
import dataclasses
import glob
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from typing import Callable

os.environ |= {"RAYON_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true"}

import sentencepiece  # pylint: disable=wrong-import-position
import tiktoken  # pylint: disable=wrong-import-position
from tokenizers import Tokenizer, normalizers  # pylint: disable=wrong-import-position

import check_sentencepiece  # pylint: disable=wrong-import-position
import check_tokenizers  # pylint: disable=wrong-import-position
from scale_texts import read_texts  # pylint: disable=wrong-import-position

try:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
except ImportError:
    Tekkenizer = None

O200K = "|".join([
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""])
BATCH_BYTES, BATCH_TEXTS = 4 << 20, 10000
TRAINING_BYTES = 16 << 20
scratch = tempfile.TemporaryDirectory()


@dataclasses.dataclass
class Format:
    name: str
    arguments: list[str]  # of encode_texts: a file, and a pattern
    encode: Callable  # texts to lists of ids
    decode: Callable | None  # lists of ids to texts; None: ids decode to the very text


def of_tokenizer_json(name, path, change=None):
    tokenizer = Tokenizer.from_file(path)
    if change:
        change(tokenizer)
        tokenizer.save(path)
    content = json.loads(tokenizer.to_str())
    normalizes = content["normalizer"] not in (None, {"type": "Sequence", "normalizers": []})
    strips = any(token["lstrip"] or token["rstrip"] for token in content["added_tokens"])
    exact = (content["decoder"] or {}).get("type") == "ByteLevel" and not normalizes and not strips

    def encode(texts):
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    return Format(f"tokenizer.json {name}", [path], encode, None if exact else lambda ids: tokenizer.decode_batch(ids, skip_special_tokens=False))


def of_ranks(name, path):
    with open(path, "rb") as file:
        ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file if line.strip())}
    pattern = (check_tokenizers.PATTERNS | {"o200k": O200K})[name]
    special = {text: len(ranks) + i for i, text in enumerate(check_tokenizers.SPECIAL.get(name, ["<|endoftext|>"]))}
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    arguments = [path, name if name in check_tokenizers.PATTERNS else pattern]
    yield Format(f"tiktoken {name}", arguments, lambda texts: encoding.encode_batch(texts, num_threads=2, allowed_special="all"), None)

    def normalize(tokenizer):
        tokenizer.normalizer = normalizers.NFC()

    yield of_tokenizer_json(name, as_tokenizer_json(arguments), normalize if name == "qwen2" else None)


def of_model(name, path):
    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    yield Format(f"sentencepiece {name}", [path], lambda texts: processor.encode(texts, num_threads=2), processor.decode)
    yield of_tokenizer_json(f"of the model {name}", as_tokenizer_json([path]))


def of_tekken(name, path):
    if Tekkenizer:
        tokenizer = Tekkenizer.from_file(path)
        return Format(f"tekken {name}", [path], lambda texts: [tokenizer.encode(text, bos=False, eos=False) for text in texts], None)
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    config = content["config"]
    num_special = config["default_num_special_tokens"]
    ranks = {base64.b64decode(token["token_bytes"]): token["rank"] for token in content["vocab"][:config["default_vocab_size"] - num_special]}
    encoding = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})

    def encode(texts):
        return [[num_special + id for id in ids] for ids in encoding.encode_ordinary_batch(texts, num_threads=2)]

    return Format(f"tekken {name}", [path], encode, None)


def tokenizer_options(arguments):
    """encode_texts' arguments as dt-shard-data's."""
    return [part for pair in zip(["--tokenizer", "--tokenizer-pattern"], arguments) for part in pair]


def as_tokenizer_json(arguments):
    """What dt-shard-data leaves in a dataset that is made with a tokenizer of another format, as far as others read it."""
    folder = tempfile.mkdtemp(dir=scratch.name)
    subprocess.run(["dt-shard-data", "--quiet", "--out", f"{folder}/data", *tokenizer_options(arguments)], input=b"text", stdout=subprocess.DEVNULL, check=True)
    path = f"{folder}/data/tokenizer.json"
    with open(path, encoding="utf-8") as file:
        content = json.load(file, object_hook=lambda item: {key: value for key, value in item.items() if not key.startswith("dt_")})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def given_formats(paths):
    for path in paths:
        name, kind = os.path.splitext(os.path.basename(path))
        if kind == ".tiktoken":
            yield from of_ranks(name, path)
        elif kind == ".model":
            yield from of_model(name, path)
        else:
            with open(path, encoding="utf-8") as file:
                is_tekken = "vocab" in json.load(file)
            yield of_tekken(name, path) if is_tekken else of_tokenizer_json(name, path)


def trained_formats(text_files):
    texts, size = [], 0
    for text in read_texts(text_files):
        texts, size = texts + [text.decode()], size + len(text)
        if size >= TRAINING_BYTES:
            break
    kept = {"gpt2", "llama3", "qwen2", "deepseek", "llama2", "gemma"}
    for name, tokenizer in itertools.chain(check_tokenizers.byte_level_ones(texts, 32000), check_tokenizers.character_ones(texts, 16000)):
        if name in kept:
            path = f"{scratch.name}/{name}.json"
            tokenizer.save(path)
            yield of_tokenizer_json(name, path)
        if name == "gpt2":
            ranks = check_tokenizers.ranks_of(tokenizer)
    for name in ["gpt2", "cl100k", "o200k", "llama3", "qwen2"]:
        path = f"{scratch.name}/{name}.tiktoken"
        with open(path, "wb") as file:
            file.write(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()))
        yield next(of_ranks(name, path))
    for name, model in check_sentencepiece.models("\n".join(texts)[:TRAINING_BYTES // 4], scratch.name, 16000):
        if name in ("llama2", "gemma", "nmt_nfkc"):
            path = f"{scratch.name}/{name}.model"
            with open(path, "wb") as file:
                file.write(model)
            yield next(of_model(name, path))
    path = f"{scratch.name}/tekken.json"
    in_order = sorted(ranks, key=lambda token: (0, ord(token)) if len(token) == 1 else (1, ranks[token]))  # bytes first, as they are
    check_sentencepiece.write_tekken(path, {token: rank for rank, token in enumerate(in_order)}, 1000, 30000)
    yield of_tekken("trained", path)


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


def feed(process, chunks):
    def write():
        with process.stdin:
            for chunk in chunks:
                process.stdin.write(chunk)

    threading.Thread(target=write, daemon=True).start()


def compare_tool(program, format, file):
    """The tool's ids to ENCODE_TEXTS's, which are the others'. Errors: Difference."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    tool_arguments = ["--encode-only", "--quiet", "--no-append-eos", "--threads", "3", "--format", "jsonl", *tokenizer_options(format.arguments)]
    with subprocess.Popen([program, *format.arguments], stderr=subprocess.DEVNULL, **pipes) as encoder, \
         subprocess.Popen(["dt-shard-data", *tool_arguments], **pipes) as tool:
        feed(encoder, (struct.pack("<Q", len(text)) + text for text in documents(file)))
        feed(tool, (json.dumps({"text": text.decode()}).encode() + b"\n" for text in documents(file)))
        for text in documents(file):
            ids = array.array("I", take(encoder.stdout, 4)).tolist()
            take(encoder.stdout, 1)
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
