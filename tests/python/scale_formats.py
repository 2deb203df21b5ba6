"""The formats that check_at_scale.py compares: dt's side is a file, the other's what its own package makes of it."""

import base64
import dataclasses
import itertools
import json
import os
import subprocess
import tempfile
from typing import Callable

import sentencepiece
import tiktoken
from tokenizers import Tokenizer, normalizers

import check_sentencepiece
import check_tokenizers
from scale_texts import read_texts

try:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
except ImportError:
    Tekkenizer = None

PATTERNS, END = check_tokenizers.PATTERNS, check_tokenizers.END
TRAINING_BYTES = 16 << 20
scratch = tempfile.TemporaryDirectory()


@dataclasses.dataclass
class Format:
    name: str
    arguments: list[str]  # of encode_texts: a file, a pattern and the token that ends documents
    encode: Callable  # texts to lists of ids
    decode: Callable | None = None  # lists of ids to texts; None: ids decode to the very text
    end_of_document: str | None = None  # what the file does not say itself

    @property
    def tool_options(self):
        """Of dt-shard-data."""
        return tokenizer_options(self.arguments) + (["--eos-token", self.end_of_document] if self.end_of_document else [])


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

    decode = None if exact else lambda ids: tokenizer.decode_batch(ids, skip_special_tokens=False)
    return Format(f"tokenizer.json {name}", [path], encode, decode, content["added_tokens"][0]["content"])


def read_ranks(path):
    with open(path, "rb") as file:
        return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file if line.strip())}


def of_ranks(name, path):
    ranks = read_ranks(path)
    pattern = PATTERNS[name]
    special = check_tokenizers.SPECIAL.get((name, len(ranks)), {END: len(ranks)})
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    arguments = [path, name] + ([] if (name, len(ranks)) in check_tokenizers.SPECIAL else [END])
    yield Format(f"tiktoken {name}", arguments, lambda texts: encoding.encode_batch(texts, num_threads=2, allowed_special="all"))

    def normalize(tokenizer):
        tokenizer.normalizer = normalizers.NFC()

    yield of_tokenizer_json(name, as_tokenizer_json(arguments), normalize if name == "qwen2" else None)


def of_model(name, path):
    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    yield Format(f"sentencepiece {name}", [path], lambda texts: processor.encode(texts, num_threads=2), processor.decode)
    path = as_tokenizer_json([path])
    with open(path, encoding="utf-8") as file:
        normalizer = json.load(file)["normalizer"]
    if "Precompiled" not in json.dumps(normalizer):  # which Hugging Face's tokenizers apply otherwise than sentencepiece does
        yield of_tokenizer_json(f"of the model {name}", path)


def of_tekken(name, path):
    if Tekkenizer:
        tokenizer = Tekkenizer.from_file(path)
        return Format(f"tekken {name}", [path], lambda texts: [tokenizer.encode(text, bos=False, eos=False) for text in texts])
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    config = content["config"]
    num_special = config["default_num_special_tokens"]
    ranks = {base64.b64decode(token["token_bytes"]): token["rank"] for token in content["vocab"][:config["default_vocab_size"] - num_special]}
    encoding = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})

    def encode(texts):
        return [[num_special + id for id in ids] for ids in encoding.encode_ordinary_batch(texts, num_threads=2)]

    return Format(f"tekken {name}", [path], encode)


def tokenizer_options(arguments):
    """encode_texts' arguments as dt-shard-data's."""
    return [part for pair in zip(["--tokenizer", "--tokenizer-pattern", "--eos-token"], arguments) for part in pair]


def as_tokenizer_json(arguments):
    """What dt-shard-data leaves in a dataset that is made with a tokenizer of another format, as far as others read it."""
    folder = tempfile.mkdtemp(dir=scratch.name)
    subprocess.run(["dt-shard-data", "--quiet", "--out", f"{folder}/data", *tokenizer_options(arguments)], input=b"text", stdout=subprocess.DEVNULL, check=True)
    path = f"{folder}/data/tokenizer.json"
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    for token in content["added_tokens"]:
        token.pop("dt_found_in", None)
    content["model"].pop("dt_ties", None)
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


def training_texts(text_files):
    texts, size = [], 0
    for text in read_texts(text_files):
        texts, size = texts + [text.decode()], size + len(text)
        if size >= TRAINING_BYTES:
            break
    return texts


def trained_formats(text_files):
    texts = training_texts(text_files)
    byte_level = itertools.islice(check_tokenizers.byte_level_ones(texts, 32000), 7)
    for name, tokenizer in itertools.chain(byte_level, itertools.islice(check_tokenizers.character_ones(texts, 16000), 3)):
        path = f"{scratch.name}/{name}.json"
        tokenizer.save(path)
        yield of_tokenizer_json(name, path)
    yield from trained_ranks(check_tokenizers.ranks_of(Tokenizer.from_file(f"{scratch.name}/gpt2.json")))
    for name, model in itertools.islice(check_sentencepiece.models("\n".join(texts)[:TRAINING_BYTES // 4], scratch.name, 16000), 3):
        yield next(of_model(name, written(f"{name}.model", model)))


def lines_of(ranks):
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())


def trained_ranks(ranks):
    for name in PATTERNS:
        yield next(of_ranks(name, written(f"{name}.tiktoken", lines_of(ranks))))
    path = f"{scratch.name}/tekken.json"
    in_order = sorted(ranks, key=lambda token: (0, ord(token)) if len(token) == 1 else (1, ranks[token]))  # bytes first, as they are
    check_sentencepiece.write_tekken(path, {token: rank for rank, token in enumerate(in_order)}, 1000, 30000)
    yield of_tekken("trained", path)


def written(name, content):
    path = f"{scratch.name}/{name}"
    with open(path, "wb") as file:
        file.write(content)
    return path
