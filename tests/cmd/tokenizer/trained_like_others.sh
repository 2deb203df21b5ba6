#!/usr/bin/env bash
# What --train-bpe learns is what Hugging Face's trainer does, and both encode with it alike.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python" 2>&1) || skip "needs tokenizers: $message"

# This repository's own text, documents of any kind that this machine has, and random letters.
cat "$DT_TESTS"/../libcore/*/*/*.cpp "$DT_TESTS"/../*.md "$DT_TESTS"/python/*.py >code
find /usr/share/common-licenses /usr/share/perl5 -type f -size -200k -print0 2>/dev/null | sort -z | xargs -0r cat >all || true
head -c 2M all | iconv -c -f utf-8 -t utf-8 >documents || true # its last character may be cut
printf '中文文本，日本語のテキスト、한국어 텍스트. Привет мир, как дела?  Ελληνικά हिन्दी العربية\n\n\n\tdon'\''t  \n%.0s' {1..50} >languages
awk 'BEGIN {srand(1); for (i = 0; i < 20000; ++i) printf "%s%s", substr("aaabbc  ", 1 + int(rand() * 8), 1), i % 97 ? "" : "\n"}' >letters
expect_exit 0 "$DT_BUILD/python/bin/python" "$DT_TESTS/python/check_training.py" dt-shard-data encode_texts code documents languages letters
cat stdout
