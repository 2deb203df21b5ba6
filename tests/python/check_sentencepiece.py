#!/usr/bin/env python3
"""check_sentencepiece.py ENCODE_TEXTS TEXT...: train SentencePiece models with many options, and hold ENCODE_TEXTS's ids and decoded
texts to sentencepiece's: on the files TEXT and on random strings. Then a tekken.json's to tiktoken's.

Exit codes: 0 all equal, 1 otherwise.
"""

import base64
import functools
import io
import json
import os
import random
import struct
import sys
import tempfile

import sentencepiece
import tiktoken

import check_tokenizers
from check_tokenizers import MORE_TEXT, differences, random_text

# A rule a line: the code points of a string, and those that it becomes.
RULES = ["61 62\t78", "61\t41", "63\t", "4e2d\t20 31", "3c 73\t3c", "a0\t20", "e9\t65 20 20 65"]
USER_DEFINED = ["<sep>", "\u2460", "ab", "abc", "h\u00e9llo", "e", "\u2581the", "\u2581\u2581", "\n\n"]


def trained(corpus, **options):
    options = {"model_type": "bpe", "character_coverage": 0.998, "minloglevel": 2, **options}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus.split("\n")), model_writer=model, **options)
    return model.getvalue()


def rules_file(path, rules):
    with open(path, "w", encoding="ascii") as file:
        file.write("".join(rule + "\n" for rule in rules))
    return path


def models(corpus, folder, vocab_size=1500):
    train = functools.partial(trained, corpus, vocab_size=vocab_size)
    rules, one_space = rules_file(f"{folder}/rules.tsv", RULES), rules_file(f"{folder}/one_space.tsv", RULES[:-1])
    plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    llama2 = train(**plain, byte_fallback=True, split_digits=True, allow_whitespace_only_pieces=True)
    yield "llama2", llama2
    yield "gemma", train(**plain, byte_fallback=True, add_dummy_prefix=False, user_defined_symbols=USER_DEFINED, control_symbols=["[BOS]"])
    yield "nmt_nfkc", train()
    yield "nmt_nfkc, bytes", train(byte_fallback=True, add_dummy_prefix=False)
    yield "nmt_nfkc_cf, user-defined", train(normalization_rule_name="nmt_nfkc_cf", user_defined_symbols=USER_DEFINED, control_symbols=["<cls>"])
    yield "nfkc, spaces kept, user-defined", train(normalization_rule_name="nfkc", remove_extra_whitespaces=False, user_defined_symbols=USER_DEFINED)
    yield "identity", train(normalization_rule_name="identity", split_by_whitespace=False, unk_surface="?")
    yield "identity, no prefix", train(normalization_rule_name="identity", add_dummy_prefix=False, byte_fallback=True, user_defined_symbols=USER_DEFINED)
    yield "rules", train(normalization_rule_tsv=one_space, user_defined_symbols=["aba", "<s"])
    yield "rules, spaces kept", train(normalization_rule_tsv=rules, remove_extra_whitespaces=False, byte_fallback=True)
    yield "no score", rescored(llama2, lambda score: 0.0)
    yield "ties", rescored(llama2, lambda score: score // 40)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def rescored(model, change):
    """The model with other scores: a piece is a message in field 1, its score a float in field 2, after its text."""
    out, at = bytearray(model), 0
    while at < len(model):
        tag, at = varint(model, at)
        size, at = varint(model, at)
        if tag == 0x0A:
            length, text = varint(model, at + 1)
            assert model[at] == 0x0A and model[text + length] == 0x15
            struct.pack_into("<f", out, text + length + 1, change(*struct.unpack_from("<f", model, text + length + 1)))
        at += size
    return bytes(out)


def write_tekken(path, ranks, num_special, num_kept):
    with open(path, "w", encoding="ascii") as file:
        json.dump({"config": {"pattern": check_tokenizers.OTHER_PATTERN, "num_vocab_tokens": len(ranks), "default_vocab_size": num_special + num_kept,
                              "default_num_special_tokens": num_special, "version": "v3"},
                   "vocab": [{"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None} for token, rank in ranks.items()],
                   "special_tokens": [{"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(["<unk>", "<s>", "</s>", "[INST]"])]}, file)


def check_tekken(program, corpus, texts, folder):
    """The first tokens of a vocabulary after the special tokens, which are not found in text."""
    _, tokenizer = next(check_tokenizers.byte_level_ones([corpus]))
    ranks, num_special, num_kept = check_tokenizers.ranks_of(tokenizer), 1000, 2000
    path = f"{folder}/tekken.json"
    write_tekken(path, ranks, num_special, num_kept)
    kept = {token: rank for token, rank in ranks.items() if rank < num_kept}
    encoding = tiktoken.Encoding("tekken", pat_str=check_tokenizers.OTHER_PATTERN, mergeable_ranks=kept, special_tokens={})
    return differences("tekken", program, [path], texts, lambda text: [num_special + id for id in encoding.encode(text)],
                       lambda text, ids, out: out == encoding.decode_bytes([id - num_special for id in ids]))


def check_sentencepiece(program, corpus, texts, folder):
    wrong = 0
    for name, model in models(corpus, folder):
        path = f"{folder}/tokenizer.model"
        with open(path, "wb") as file:
            file.write(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        wrong += differences(name, program, [path], texts, processor.encode,
                             lambda text, ids, out: out.decode(errors="replace") == processor.decode(ids))
    return wrong


def main():
    program, *paths = sys.argv[1:]
    files = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            files.append(file.read())
    generator = random.Random(int(os.environ.get("SEED", "1")))
    check_tokenizers.MARKS += USER_DEFINED + ["\u2605", "<cls>", "[BOS]", "</s>", "aba", "<sep>\u0338", "e\u0301", "ab\u0301", "  ", "\u2581\u2581\u2581"]
    check_tokenizers.POOLS.append([ord(c) for c in "ab\u2581 \u4e2dce\u00e9\x01\u200b"])
    texts = files + MORE_TEXT + [random_text(generator) for _ in range(int(os.environ.get("STRINGS", "3000")))]
    texts += ["", " ", "\u2581", "\x01", "a" * 3000, " " * 3000, "ab" * 2000, "\u2581" * 3000 + "a", "\n" * 500, "\u4e2d" * 1500, "\U0001F600" * 500]
    with tempfile.TemporaryDirectory() as folder:
        corpus = "".join(files + MORE_TEXT)
        wrong = check_sentencepiece(program, corpus, texts, folder) + check_tekken(program, corpus, texts, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
