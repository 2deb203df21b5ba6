# Sourced by cases that train: a small dataset and a small model, and ways to run and compare.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# make_shards DIR: about 60 kB of text in a few documents, the same each time.
make_shards() {
  local i
  mkdir -p "$case_dir/text"
  for i in 1 2 3 4 5 6; do
    seq -f "line %g of document $i: the quick brown fox jumps over the lazy dog" 1 150 >"$case_dir/text/$i.txt"
  done
  dt-shard-data --quiet --out "$1" --val-fraction 0.2 "$case_dir/text" >/dev/null || fail "dt-shard-data"
}

# arguments RUN [options]: into $train_args: a tiny model on ./shards with these defaults, each of which an option may replace.
arguments() {
  local i
  local defaults=(--model llama-tiny --data shards --sequence-length 32 --global-batch 8 --micro-batch 2 --lr 1e-3
    --threads 1 --peak-flops 1e9 --eval-batches 1)
  train_args=(--run "$@")
  for ((i = 0; i < ${#defaults[@]}; i += 2)); do
    [[ " $* " == *" ${defaults[i]} "* ]] || train_args+=("${defaults[i]}" "${defaults[i + 1]}")
  done
}

train() {
  arguments "$@"
  dt-train "${train_args[@]}"
}

# start_training: the same in the background, as process $trainer.
start_training() {
  arguments "$@"
  dt-train "${train_args[@]}" >/dev/null 2>&1 &
  # shellcheck disable=SC2034
  trainer=$!  # for the case
}

# wait_for_step RUN N
wait_for_step() {
  local tries
  for ((tries = 0; tries < 1200; ++tries)); do
    if grep -qs "\"kind\":\"train\",\"step\":$2," "$1/metrics.jsonl"; then return; fi
    sleep 0.05
  done
  fail "$1 did not reach step $2"
}

# merged RUN: the path of an HDF5 file with the run's newest weights.
merged() {
  local file
  file=$case_dir/$(basename "$1").$RANDOM.h5
  dt-merge --quiet "$(dt-checkpoint latest "$1")" --out "$file" >/dev/null || fail "dt-merge $1"
  echo "$file"
}

# expect_same_model RUN RUN: merged weights equal in every bit.
expect_same_model() {
  cmp "$(merged "$1")" "$(merged "$2")" || fail "the models of $1 and $2 differ"
}

# counted RUN: the lines of its metrics that count, as FORMATS.md says: those of the newest generation's lineage.
counted() {
  awk '
    function number(name) {
      return match($0, "\"" name "\":[0-9]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 : 0
    }
    {
      generation = number("generation")
      if ($0 ~ /^[{]"kind":"(start|resume)"/) {
        last = generation
        began[last] = number("step")
        parent[last] = match($0, /"checkpoint":"step-[0-9]+[.]g[0-9]+"/) ? substr($0, RSTART + 14, RLENGTH - 15) : ""
        sub(/.*[.]g/, "", parent[last])
        if (last > newest) newest = last
      }
      line[NR] = $0; step[NR] = number("step"); of[NR] = generation ? generation : last
    }
    END {
      limit[newest] = 1e18
      for (g = newest; parent[g] != "" && parent[g] + 0 < g; g = before) {
        before = parent[g] + 0
        limit[before] = began[g] < limit[g] ? began[g] : limit[g]
      }
      for (i = 1; i <= NR; ++i) if (of[i] in limit && step[i] <= limit[of[i]]) print line[i]
    }' <"$1/metrics.jsonl"
}

# losses RUN: "step loss" of every step.
losses() { counted "$1" | sed -nE 's/.*"kind":"train","step":([0-9]+),"loss":([^,]+),.*/\1 \2/p' | sort -n; }

# digest_of RUN: of all data seen.
digest_of() { sed -nE 's/.*"kind":"train".*"data_digest":"([^"]*)".*/\1/p' "$1/metrics.jsonl" | tail -n 1; }

# expect_close A B BOUND WHAT: texts of "step value", the values relatively within BOUND.
expect_close() {
  expect_equal "$(wc -l <<<"$1")" "$(wc -l <<<"$2")" "steps of $4"
  paste -d ' ' <(echo "$1") <(echo "$2") |
    awk -v bound="$3" '{ d = ($2 - $4) / $4; bad += $1 != $3 || !(d <= bound && -d <= bound) } END { exit !(NR > 0 && bad == 0) }' ||
    fail "$4: $(paste -d ' ' <(echo "$1") <(echo "$2"))"
}
