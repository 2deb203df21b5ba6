#!/usr/bin/env bash
# Tables of columns are refused with a command that converts them, as it stands.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

command -v python3 >/dev/null || skip "there is no python3"
# A stand-in for pyarrow: every file has the same batch.
mkdir -p stand_in/pyarrow
cat >stand_in/pyarrow/__init__.py <<'END'
import types


class Batch:
    def to_pylist(self):
        return [{"text": "one ä"}, {"text": "two", "when": complex(1, 2)}]


class Table:
    def __init__(self, path):
        open(path).close()

    def iter_batches(self):
        return iter([Batch()])

    to_batches = iter_batches


ipc = types.SimpleNamespace(open_stream=lambda file: iter([Batch()]))
END
echo 'from pyarrow import Table as ParquetFile' >stand_in/pyarrow/parquet.py
echo 'from pyarrow import Table as read_table' >stand_in/pyarrow/feather.py
echo 'raise SystemExit("a module of the working directory")' | tee json.py >pyarrow.py

# refused FILE WHAT
refused() {
  expect_exit 3 dt-shard-data --out out "$1"
  expect_match stderr "$1 is $2, which dt does not read; convert it to JSON lines with pyarrow"
  expect_absent out
  local convert
  convert=$(sed -n "s/.* with pyarrow: \(python3 .* | dt-shard-data --format jsonl\) ….*/\1/p" stderr)
  PYTHONPATH=stand_in bash -c "$convert --out out --no-shuffle --val-fraction 0 --quiet" >/dev/null
  expect_exit 0 dt-shard-data --decode out/train-00000.h5:0:11
  expect_equal "$(cat stdout)" 'one ä<|endoftext|>two<|endoftext|>'
  rm -rf out
}
printf 'PAR1 and so on PAR1' >"it's a.parquet"
refused "it's a.parquet" 'a Parquet file'
printf 'ARROW1\0\0 and so on' >a.arrow
refused a.arrow 'an Arrow or Feather file'
printf 'FEA1 and so on' >a.feather
refused a.feather 'an Arrow or Feather file'
printf '\xff\xff\xff\xff and so on' >stream.arrow
refused stream.arrow 'an Arrow stream'

gzip -c a.feather >a.feather.gz
expect_exit 3 dt-shard-data --out out a.feather.gz
expect_match stderr 'a.feather.gz is an Arrow or Feather file.*extract the file, then .* FILE '
expect_exit 3 dt-shard-data --out out <a.arrow
expect_match stderr 'standard input is an Arrow or Feather file.* FILE '
expect_absent out
