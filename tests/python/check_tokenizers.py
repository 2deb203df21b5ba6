#!/usr/bin/env python3
"""check_tokenizers.py ENCODE_TEXTS TEXT...: train tokenizers of many kinds with Hugging Face's tokenizers, and hold ENCODE_TEXTS's
ids and decoded texts to theirs and, for tiktoken's ranks, to tiktoken's: on the files TEXT and on random strings.

Exit codes: 0 all equal, 1 otherwise.
"""

import array
import base64
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

PATTERNS = {
    "gpt2": r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    "llama3": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    "qwen2": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    "cl100k": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
}
O200K_WORD = r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"""
O200K_CAPITALS = r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"""
O200K_REST = r""" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERNS |= {
    "o200k": "|".join([O200K_WORD + CONTRACTIONS, O200K_CAPITALS + CONTRACTIONS, r"\p{N}{1,3}", O200K_REST]),
    "tekken": "|".join([O200K_WORD, O200K_CAPITALS, r"\p{N}", O200K_REST]),
}
END = "<|endoftext|>"  # which comes after ranks that are no published encoding's
# The published encodings' special tokens by their names and numbers of ranks.
SPECIAL = {
    ("gpt2", 50256): {END: 50256},
    ("gpt2", 50280): {END: 50256},
    ("cl100k", 100256): {END: 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276},
    ("o200k", 199998): {END: 199999, "<|endofprompt|>": 200018},
    ("llama3", 128000): {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001, "<|start_header_id|>": 128006, "<|end_header_id|>": 128007,
                         "<|eot_id|>": 128009},
    ("qwen2", 151643): {END: 151643, "<|im_start|>": 151644, "<|im_end|>": 151645},
}
# What no file writes out by hand: a known pattern's neighbour.
OTHER_PATTERN = r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s+(?!\S)|\s+"""
DEEPSEEK = (r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""")
MORE_TEXT = ["中文文本，日本語のテキスト、한국어 텍스트. Привет мир, как дела? Ελληνικά हिन्दी العربية " * 20]

# A token that is no single word hides what begins within it; neighbours are those that it has before it takes spaces.
SINGLE_WORDS = [AddedToken("ab", single_word=True), "bc", AddedToken("st", single_word=True, normalized=False),
                AddedToken("et", single_word=True, lstrip=True), AddedToken("<w>", single_word=True, rstrip=True, normalized=False)]

ByteLevel, Sequence, Split = pre_tokenizers.ByteLevel, pre_tokenizers.Sequence, pre_tokenizers.Split


def trained(texts, model, normalizer, pre_tokenizer, decoder, **options):
    tokenizer = Tokenizer(model)
    if normalizer is not None:  # a Sequence is false
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    if decoder is not None:
        tokenizer.decoder = decoder
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(show_progress=False, **options))
    return tokenizer


def byte_level_ones(texts, vocab_size=3000):
    def make(normalizer, *steps):
        return trained(texts, models.BPE(), normalizer, steps[0] if len(steps) == 1 else Sequence(list(steps)), decoders.ByteLevel(),
                       vocab_size=vocab_size, special_tokens=["<|endoftext|>"], initial_alphabet=ByteLevel.alphabet())

    plain = ByteLevel(add_prefix_space=False, use_regex=False)
    yield "gpt2", make(None, ByteLevel(add_prefix_space=False))
    yield "prefix", make(None, ByteLevel(add_prefix_space=True))
    yield "llama3", make(None, Split(Regex(PATTERNS["llama3"]), "isolated"), plain)
    qwen2 = make(normalizers.NFC(), Split(Regex(PATTERNS["qwen2"]), "isolated"), plain)
    qwen2.add_special_tokens(["<|im_start|>", AddedToken("[INST]", lstrip=True, rstrip=True, normalized=False)])
    qwen2.add_tokens(["<tool>", "h\u00e9llo", AddedToken("  ", normalized=False), AddedToken(" t", normalized=False, lstrip=True)])
    yield "qwen2", qwen2
    yield "deepseek", make(None, *(Split(Regex(regex), "isolated") for regex in DEEPSEEK), plain)
    falcon = (pre_tokenizers.Punctuation("contiguous"), ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(), Split(Regex("[0-9][0-9][0-9]"), "isolated"))
    yield "falcon", make(None, *falcon)
    lowercase = make(normalizers.Sequence([normalizers.Lowercase(), normalizers.NFD(), normalizers.StripAccents()]), ByteLevel(add_prefix_space=False))
    lowercase.add_tokens(SINGLE_WORDS)
    yield "lowercase", lowercase
    yield "digits", make(normalizers.NFKC(), pre_tokenizers.Digits(individual_digits=True), ByteLevel(add_prefix_space=False))
    yield "punctuation", make(None, pre_tokenizers.Punctuation(), ByteLevel(add_prefix_space=False))
    yield "accents", make(normalizers.StripAccents(), ByteLevel(add_prefix_space=False))
    # What is split by the characters that bytes are written as.
    yield "words of bytes", make(None, plain, Split("\u0120", "merged_with_next"), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Whitespace())
    yield "parts of bytes", make(None, Sequence([ByteLevel(add_prefix_space=True, use_regex=False), Split(Regex("[\u00e0-\u00ff]"), "removed")]),
                                 Split(Regex("[a-z\u0120]+"), "contiguous"), pre_tokenizers.Punctuation("merged_with_previous"))
    yield "two prefixes", make(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), ByteLevel(add_prefix_space=True))


def without_pre_tokenizer(tokenizer):
    content = json.loads(tokenizer.to_str())
    content["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(content))


def character_ones(texts, vocab_size=2500):
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    to_text = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    sentencepiece = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])

    def make(normalizer, pre_tokenizer, decoder, model=None):
        model = model or models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
        tokenizer = trained(texts, model, normalizer, pre_tokenizer, decoder, vocab_size=vocab_size, limit_alphabet=vocab_size // 16,
                            special_tokens=["<unk>", "<s>"] + (bytes_ if model.byte_fallback else []))
        content = json.loads(tokenizer.to_str())
        content["added_tokens"] = content["added_tokens"][:2]
        return Tokenizer.from_str(json.dumps(content))

    llama2_decoder = decoders.Sequence(to_text + [decoders.Strip(" ", 1, 0)])
    yield "llama2", without_pre_tokenizer(make(sentencepiece, Split("▁", "merged_with_next"), llama2_decoder))
    yield "across_words", without_pre_tokenizer(make(sentencepiece, Split(Regex(".{1,12}"), "isolated"), llama2_decoder))
    yield "gemma", make(normalizers.Replace(" ", "▁"), Split("▁", "merged_with_previous"), decoders.Sequence(to_text))
    yield "metaspace", make(None, pre_tokenizers.Metaspace(prepend_scheme="first"), decoders.Metaspace(prepend_scheme="first"))
    yield "unknown", make(None, pre_tokenizers.Whitespace(), None, models.BPE(unk_token="<unk>"))


# Only characters that every version of these packages knows.
POOLS = [[c for c in pool if unicodedata.category(chr(c)) != "Cn"] for pool in [
    [ord(c) for c in " \n\t\r'stdmlvreSTabc12.,-_"], [ord(c) for c in "▁ <>|/s0x0A"], [0x20, 0x0A, 0x09, 0xA0, 0x3000, 0x85, 0x2028, 0x0D],
    range(0x20, 0x7F), range(0x00, 0x250), range(0x300, 0x600), range(0x900, 0xD00), range(0xE00, 0x1100), range(0x2000, 0x3100),
    range(0x4E00, 0x9FFF), range(0xAC00, 0xD7A4), range(0x1F300, 0x1FB00), [*range(0xD800), *range(0xE000, 0x110000)],
]]
MARKS = ["<|endoftext|>", "<|im_start|>", " [INST]  ", "<tool>", "h\u00e9llo", "he\u0301llo", "<unk>", "<s>", "<0x0A>", " [INST]   t", "ab", "bc", "abc", "st", "\u00e9T",
         "\u00c9t", "e\u0301t", "<w>", "_ab", "ab\u200d", "\u24b6<w>", "\u203fst", "st\u0301 ", "\u0130\u03a3"]


def every_character():
    """Texts in which each has neighbours that ask what it is."""
    parts = [f"<w>{chr(c)}<w> " for c in POOLS[-1]]
    return ["".join(parts[i:i + 2000]) for i in range(0, len(parts), 2000)]


def random_text(generator):
    parts = []
    while generator.random() < 0.92:
        part = "".join(chr(c) for c in generator.choices(generator.choice(POOLS), k=generator.randint(1, 8)))
        parts += [part * generator.choice([1] * 20 + [40]), generator.choice(MARKS) if generator.random() < 0.05 else ""]
    return "".join(parts)


def encode_texts(program, arguments, texts):
    """Of each text its ids and what they decode to."""
    framed = b"".join(struct.pack("<Q", len(text)) + text for text in (text.encode() for text in texts))
    out = subprocess.run([program, *arguments], input=framed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    at = 0

    def take(size):
        nonlocal at
        count, = struct.unpack_from("<Q", out, at)
        at += 8 + count * size
        return out[at - count * size:at]

    for _ in texts:
        ids = array.array("I", take(4)).tolist()
        yield ids, take(1)


def differences(name, program, arguments, texts, encode, decode):
    count = 0
    for text, (ids, decoded) in zip(texts, encode_texts(program, arguments, texts)):
        expected = encode(text)
        if ids == expected and decode(text, ids, decoded):
            continue
        count += 1
        if count <= 3:
            print(f"{name}: {text[:60]!r}: {ids[:20]} {decoded[:60]!r}, not {expected[:20]}", file=sys.stderr)
    print(f"{name}: {len(texts)} texts, {count} differ")
    return count


def main():
    program, *paths = sys.argv[1:]
    files = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            files.append(file.read())
    corpus = files + MORE_TEXT
    generator = random.Random(int(os.environ.get("SEED", "1")))
    texts = corpus + [random_text(generator) for _ in range(int(os.environ.get("STRINGS", "3000")))]
    texts += ["", "a" * 3000, " " * 3000, "ab" * 2000, "\n" * 500, "中" * 1500, "😀" * 500]
    folder, wrong = tempfile.mkdtemp(), 0
    ranks = {}
    for name, tokenizer in [*byte_level_ones(corpus), *character_ones(corpus)]:
        path = f"{folder}/{name}.json"
        tokenizer.save(path)
        all_texts = texts + every_character() if name in ("lowercase", "accents") else texts
        wrong += differences(name, program, [path], all_texts, lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
                             lambda text, ids, out: out.decode(errors="replace") == tokenizer.decode(ids, skip_special_tokens=False))
        if name == "gpt2":
            ranks = ranks_of(tokenizer)
    path = f"{folder}/ranks"
    with open(path, "wb") as file:
        for token, rank in ranks.items():
            file.write(base64.b64encode(token) + b" %d\n" % rank)
    for name, regex in [*PATTERNS.items(), (OTHER_PATTERN, OTHER_PATTERN)]:
        encoding = tiktoken.Encoding(name, pat_str=regex, mergeable_ranks=ranks, special_tokens={END: len(ranks)})
        wrong += differences(f"tiktoken {name[:8]}", program, [path, name, END], texts,
                             lambda text: encoding.encode(text, allowed_special="all"),
                             lambda text, ids, out: out == text.encode())
    return 1 if wrong else 0


def ranks_of(tokenizer):
    """A byte-level tokenizer's tokens as bytes, in the order of their making, without the special one."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    to_byte = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
    by_id = sorted((id, text) for text, id in tokenizer.get_vocab().items() if text != "<|endoftext|>")
    return {bytes(to_byte[c] for c in text): rank for rank, (_, text) in enumerate(by_id)}


if __name__ == "__main__":
    sys.exit(main())
