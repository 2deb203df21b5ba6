#!/usr/bin/env bash
# Ids and decoded texts are those of Hugging Face's tokenizers, of tiktoken and of sentencepiece, for tokenizers of every kind that is read.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python" 2>&1) || skip "needs tokenizers, tiktoken and sentencepiece: $message"

root=$DT_TESTS/..
texts=("$root/README.md" "$root"/libcore/*.md "$root"/libcore/tokenizer/*/*.cpp "$root/Makefile")
for check in check_tokenizers.py check_sentencepiece.py; do
  expect_exit 0 "$DT_BUILD/python/bin/python" "$DT_TESTS/python/$check" encode_texts "${texts[@]}"
  cat stdout
done
