#!/usr/bin/env bash
# Texts of many scripts are split as Hugging Face's tokenizers and tiktoken split them, by some hundred random patterns.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python-regex" requirements-regex.txt 2>&1) || skip "needs tokenizers and tiktoken: $message"

expect_exit 0 "$DT_BUILD/python-regex/bin/python" "$DT_TESTS/python/check_regex.py" split_texts 600
cat stdout
