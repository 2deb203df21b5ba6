#!/usr/bin/env bash
# Ids and decoded texts are those of Hugging Face's tokenizers, tiktoken and sentencepiece on a gigabyte of text and a million random
# strings for each kind of tokenizer. Whole paths, blanks between them: DT_SCALE_TEXT, files and folders of text (default: what this machine
# has of documents, message catalogues and code), DT_SCALE_TOKENIZERS, files of tokenizers (see check_at_scale.py; default: one of each kind,
# trained here), DT_SCALE_PYTHON, a python that has the others' packages. DT_SCALE_BYTES and DT_SCALE_STRINGS say how much; the texts, 1.4 GB,
# lie in TMPDIR while it runs.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
python=${DT_SCALE_PYTHON:-$DT_BUILD/python/bin/python}
if [[ -z ${DT_SCALE_PYTHON:-} ]]; then
  message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python" 2>&1) || skip "needs tokenizers, tiktoken and sentencepiece: $message"
fi

read -ra paths <<<"${DT_SCALE_TEXT:-/usr/share /usr/include /usr/lib/python3 $DT_TESTS}"
read -ra tokenizers <<<"${DT_SCALE_TOKENIZERS:-}"
mkdir texts
"$python" "$DT_TESTS/python/scale_texts.py" texts "${DT_SCALE_BYTES:-1e9}" "${DT_SCALE_STRINGS:-1e6}" "${paths[@]}"
TMPDIR=$PWD "$python" "$DT_TESTS/python/check_at_scale.py" encode_texts texts "${tokenizers[@]}"
