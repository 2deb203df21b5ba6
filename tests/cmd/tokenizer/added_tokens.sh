#!/usr/bin/env bash
# Added tokens have the ids that Hugging Face's tokenizers give them, whatever their file says.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python-regex" requirements-regex.txt 2>&1) || skip "needs tokenizers and tiktoken: $message"

expect_exit 0 "$DT_BUILD/python-regex/bin/python" "$DT_TESTS/python/check_added_tokens.py" encode_texts 100
cat stdout
