#!/usr/bin/env bash
# CSV and JSON: whole, parseable, and saying where they come from.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"

mkdir out
expect_exit 0 mpi 2 dt-allreduce-bench -o all_reduce,send_receive -b 64 -e 256 -n 3 --csv 'a b.csv' --json-file out/run.json --quiet
cp stdout table
expect_equal "$(wc -l <'a b.csv')" 7 "heading and rows"
expect_equal "$(head -n 1 'a b.csv' | cut -d, -f1-7)" "operation,backend,size,count,type,redop,root"
expect_match 'a b.csv' "^all_reduce,mpi,64,16,float,sum,-1,[0-9.e-]+,.*,'?dt-allreduce-bench|\"dt-allreduce-bench"
for key in date dt_version mpi_version ranks hosts command iterations; do
  head -n 1 'a b.csv' | tr , '\n' | grep -qx "$key" || fail "the CSV lacks $key"
  expect_match out/run.json "\"$key\": "
done
expect_match out/run.json "\"command\": \".*--csv 'a b.csv' --json-file out/run.json"
expect_match out/run.json "\"host\": \"$(hostname)\""
expect_equal "$(find . -name '.*tmp*' | wc -l)" 0 "temporary files left"

if command -v python3 >/dev/null; then
  python3 - <<'PYTHON' || fail "the files do not say what the table says"
import csv, json
rows = list(csv.DictReader(open("a b.csv")))
document = json.load(open("out/run.json"))
table = [line.split() for line in open("table") if not line.startswith("#")]
assert len(rows) == len(document["results"]) == len(table) == 6
for row, result, cells in zip(rows, document["results"], table):
    assert None not in row and None not in row.values()
    assert row["size"] == str(result["size"]) == cells[0] and row["operation"] == result["operation"]
    assert float(row["out_of_place_time_us"]) == result["out_of_place"]["time_us"]
    digits = len(cells[5].partition(".")[2])  # of a long time fewer are shown
    assert abs(float(cells[5]) - result["out_of_place"]["time_us"]) <= 0.6 * 10**-digits
    if result["operation"] == "all_reduce":
        assert row["in_place_wrong"] == "0" == cells[12] and result["in_place"]["wrong"] == 0
        busbw, algbw = (result["in_place"][key] for key in ("busbw_gb_s", "algbw_gb_s"))
        assert abs(busbw - algbw) < 1e-5  # a factor of 1 for two ranks
        assert abs(algbw - result["size"] / result["in_place"]["time_us"] * 1e-3) <= 1e-4 * algbw
    else:
        assert row["in_place_time_us"] == "" and result["in_place"] is None
    assert row["ranks"] == "2" and row["date"] == document["date"]
PYTHON
fi

# JSON lines on stdout, from rank 0 only, apart from the file.
expect_exit 0 mpi 3 dt-allreduce-bench -b 64 -e 256 -n 3 --json --json-file lines.json
expect_equal "$(sed -nE 's/^\{"kind":"([a-z]+)".*\}$/\1/p' stdout | tr '\n' ' ')" "run result result result summary "
expect_equal "$(wc -l <stdout)" 5

# An earlier file is replaced; a device is written to.
expect_exit 0 dt-allreduce-bench -e 8 --csv lines.json --json-file /dev/null
expect_match lines.json "^operation,"
[[ -c /dev/null ]] || fail "/dev/null was replaced"
mkfifo pipe
{ sleep 0.5 && cat pipe; } >from_pipe & # results wait for a reader
reader=$!
expect_exit 0 dt-allreduce-bench -e 8 --csv pipe
wait "$reader"
expect_match from_pipe "^all_reduce,dt,8,"

# What cannot be written is found out before anything is measured.
mkdir folder
for file in folder /proc/nowhere/x.csv; do
  expect_exit 4 mpi 2 dt-allreduce-bench --csv "$file"; expect_match stderr "${file%/x.csv}"
  ! grep -qE '^ ' stdout || fail "measured before --csv $file was refused"
  expect_exit 4 dt-allreduce-bench --json-file "$file"; expect_match stderr "${file%/x.csv}"
done
[[ $(id -u) = 0 ]] || { mkdir sealed && chmod a-w sealed && expect_exit 4 dt-allreduce-bench --csv sealed/x.csv; }
expect_absent sealed/x.csv
