#!/usr/bin/env python3
"""time_encoders.py TOKENIZER NAME=TEXT...: one core's bytes a second of text to ids, for dt, tiktoken and Hugging Face's tokenizers.

TOKENIZER is tiktoken's ranks, PATTERN.tiktoken, or a byte-level tokenizer.json with GPT-2's pattern, whose tokens become such ranks. The
file TEXT is handed over whole or in parts, whichever is faster for whom it is. Seconds are the processor's; rounds of all follow each other,
and ratios are medians of rounds.
"""

import csv
import os
import statistics
import subprocess
import sys
import time

os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}  # read once, by what the next line imports

import tiktoken  # pylint: disable=wrong-import-position
from tokenizers import Tokenizer  # pylint: disable=wrong-import-position

import check_tokenizers  # pylint: disable=wrong-import-position
import scale_formats  # pylint: disable=wrong-import-position

ROUNDS = 5
PARTS = [3000, 30000, 300000]  # characters
SLOW_CHARACTERS = 2000000  # enough for the slowest


def seconds(encode, parts):
    start = time.process_time()
    for part in parts:
        encode(part)
    return time.process_time() - start


def fastest_parts(encode, text):
    head = text[:SLOW_CHARACTERS]
    ways = [[head[i:i + size] for i in range(0, len(head), size)] for size in PARTS]
    return min(ways, key=lambda parts: seconds(encode, parts))


def seconds_of_dt(ranks, pattern, path):
    environment = os.environ | {"DT_BENCH_TOKENIZER": ranks, "DT_BENCH_PATTERN": pattern, "DT_BENCH_ENGLISH": path}
    command = ["bench_tokenizer", "--benchmark_filter=^BM_english", "--benchmark_format=csv", "--benchmark_min_time=0.3"]
    lines = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.splitlines()
    row = next(row for row in csv.DictReader(lines[next(i for i, line in enumerate(lines) if line.startswith("name,")):]))
    assert row["time_unit"] == "ms"
    return float(row["cpu_time"]) / 1e3


def as_ranks(path):
    if path.endswith(".tiktoken"):
        return path
    ranks = check_tokenizers.ranks_of(Tokenizer.from_file(path))
    return scale_formats.written("gpt2.tiktoken", scale_formats.lines_of(ranks))


def others(ranks, pattern):
    mergeable = scale_formats.read_ranks(ranks)
    encoding = tiktoken.Encoding(pattern, pat_str=check_tokenizers.PATTERNS[pattern], mergeable_ranks=mergeable, special_tokens={})
    tokenizer = Tokenizer.from_file(scale_formats.as_tokenizer_json([ranks, pattern, check_tokenizers.END]))
    return {
        "tiktoken": (6, encoding.encode_ordinary),
        "Hugging Face's tokenizers": (20, lambda part: tokenizer.encode_batch_fast([part], add_special_tokens=False)),
    }


def main():
    ranks = as_ranks(sys.argv[1])
    pattern = os.path.basename(ranks).removesuffix(".tiktoken")
    for name, path in (argument.split("=", 1) for argument in sys.argv[2:]):
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        size = os.path.getsize(path)
        encoders = {other: (target, encode, fastest_parts(encode, text)) for other, (target, encode) in others(ranks, pattern).items()}
        ratios = {other: [] for other in encoders}
        speeds = []
        for _ in range(ROUNDS):
            own = size / seconds_of_dt(ranks, pattern, path)
            speeds.append(own)
            for other, (_, encode, parts) in encoders.items():
                ratios[other].append(own * seconds(encode, parts) / sum(len(part.encode()) for part in parts))
        print(f"{name + ' to ids, MB/s of one core':<64} {statistics.median(speeds) / 1e6:.1f}")
        for other, (target, _, _) in encoders.items():
            values = sorted(ratios[other])
            print(f"{f'{name} to ids ÷ {other}':<64} {statistics.median(values):.2f} (at least {target})  of {' '.join(f'{v:.2f}' for v in values)}")


if __name__ == "__main__":
    main()
