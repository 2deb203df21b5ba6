#!/usr/bin/env python3
"""check_training.py DT_SHARD_DATA ENCODE_TEXTS TEXT...: hold what `dt-shard-data --train-bpe` learns from the files TEXT, vocabulary and
merges, to what Hugging Face's trainer does, and the ids of both tokenizers by both programs to each other.

Exit codes: 0 all equal, 1 otherwise.
"""

import json
import subprocess
import sys
import tempfile

from check_tokenizers import PATTERNS, differences
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

ByteLevel, Split = pre_tokenizers.ByteLevel, pre_tokenizers.Split
# Pattern, tokens, the least count of a pair, the token that ends a text.
CASES = [("gpt2", 5000, 1, "<|endoftext|>"), ("gpt2", 300, 1, "<end of text>"), ("gpt2", 100000, 3, "the"),
         ("llama3", 3000, 1, "<|endoftext|>"), ("qwen2", 3000, 2, "<|endoftext|>")]


def trained_by_others(texts, pattern, size, min_count, eos):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.ByteLevel()
    if pattern == "gpt2":
        tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    else:
        split = Split(Regex(PATTERNS[pattern]), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=min_count, special_tokens=[eos], show_progress=False,
                                  initial_alphabet=ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def model_of(tokenizer):
    model = json.loads(tokenizer.to_str())["model"]
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    return model["vocab"], merges


def check(programs, paths, texts, case, folder):
    pattern, size, min_count, eos = case
    name = f"{pattern} {size} {min_count} {eos}"
    ours, theirs = f"{folder}/ours.json", f"{folder}/theirs.json"
    subprocess.run([programs[0], "--quiet", "--overwrite", "--train-bpe", str(size), "--min-pair-count", str(min_count), "--eos-token", eos,
                    "--tokenizer-pattern", pattern, "--save-tokenizer", ours, *paths], stdout=subprocess.DEVNULL, check=True)
    other = trained_by_others(texts, pattern, size, min_count, eos)
    other.save(theirs)
    own = Tokenizer.from_file(ours)
    vocab, merges = model_of(own)
    wrong = 0 if (vocab, merges) == model_of(other) else 1
    print(f"{name}: {len(vocab)} tokens, {len(merges)} merges, {'equal' if wrong == 0 else 'NOT EQUAL'}")
    for kind, path, tokenizer in [("our file", ours, own), ("their file", theirs, other), ("both", ours, other)]:
        wrong += differences(f"{name}: {kind}", programs[1], [path], texts + [f"a {eos}b{eos}"],
                             lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
                             lambda text, ids, out: out.decode(errors="replace") == tokenizer.decode(ids, skip_special_tokens=False))
    return wrong


def main():
    programs, paths = sys.argv[1:3], sys.argv[3:]
    texts = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            texts.append(file.read())
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(check(programs, paths, texts, case, folder) for case in CASES)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
