#!/usr/bin/env bash
# Ids and decoded texts are those of Hugging Face's tokenizers and of tiktoken, for tokenizers of every kind that is read.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python" 2>&1) || skip "needs tokenizers and tiktoken: $message"

root=$DT_TESTS/..
expect_exit 0 "$DT_BUILD/python/bin/python" "$DT_TESTS/python/check_tokenizers.py" encode_texts "$root/README.md" "$root"/libcore/*.md \
  "$root"/libcore/tokenizer/*.cpp "$root/Makefile"
cat stdout
