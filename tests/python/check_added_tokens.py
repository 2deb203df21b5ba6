#!/usr/bin/env python3
"""check_added_tokens.py ENCODE_TEXTS COUNT [SEED]: hold ENCODE_TEXTS's ids to Hugging Face's tokenizers for COUNT files whose added tokens
have ids and contents by chance: those of other tokens, of none, twice, in vocabularies with gaps.

Exit codes: 0 all equal, 1 otherwise.
"""

import json
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from check_tokenizers import encode_texts

CONTENTS = ["<x>", "<y>", "<|im_start|>", "ab", "<tok>", "gap", "hap", "a", "x", " h", "<x", "Q", "q", "\u00e9", "lap", ""]
FREE_IDS = [257, 258, 259, 260, 261, 262, 300, 1000]


def plain_file():
    vocabulary = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))} | {"ab": 256, "<tok>": 257}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[("a", "b")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return json.loads(tokenizer.to_str())


def added_token(generator):
    flags = {name: generator.random() < odds for name, odds in
             [("special", 0.2), ("single_word", 0.1), ("lstrip", 0.1), ("rstrip", 0.1), ("normalized", 0.5)]}
    return {"id": generator.choice([0, 5, 256, *FREE_IDS]), "content": generator.choice(CONTENTS)} | flags


def random_file(generator):
    content = plain_file()
    vocabulary = content["model"]["vocab"]
    for word in ("gap", "hap", "lap"):
        id = generator.choice(FREE_IDS)
        if generator.random() < 0.4 and id not in vocabulary.values():
            vocabulary[word] = id
    content["normalizer"] = generator.choice([None, {"type": "Lowercase"}])
    content["model"]["ignore_merges"] = generator.random() < 0.3
    content["added_tokens"] = [added_token(generator) for _ in range(generator.randint(0, 8))]
    return content


def ids_of_theirs(content, texts):
    """None where the file is refused."""
    try:
        tokenizer = Tokenizer.from_str(json.dumps(content))
    except Exception:  # pylint: disable=broad-exception-caught
        return None
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def ids_of_ours(program, content, texts):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(content, file)
        file.flush()
        try:
            return [ids for ids, _ in encode_texts(program, [file.name], texts)]
        except subprocess.CalledProcessError:
            return None


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    generator = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    wrong = refused = 0
    for _ in range(count):
        content = random_file(generator)
        texts = ["".join(generator.choice(CONTENTS + [" ", "b"]) for _ in range(generator.randint(0, 10))) for _ in range(20)]
        theirs, ours = ids_of_theirs(content, texts), ids_of_ours(program, content, texts)
        refused += theirs is None
        if theirs != ours:
            wrong += 1
            print(json.dumps(content["added_tokens"]), {word: id for word, id in content["model"]["vocab"].items() if id > 255}, file=sys.stderr)
    print(f"{count} files with added tokens, {refused} refused by both, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
