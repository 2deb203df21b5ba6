#!/usr/bin/env bash
# Paths that are no UTF-8 work in every tool: escaped in JSON (FORMATS.md), and read back from there.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
export LC_ALL=C # of grep: the bytes are no characters
make_shards shards
dir=$(printf 'caf\xe9')
escaped='caf\\xE9' # as JSON has it
mkdir "$dir"
mv shards "$dir/shards"
cat >"$dir/model.json" <<<'{"model_type":"llama","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2,
  "num_key_value_heads":2,"intermediate_size":48,"vocab_size":320,"max_position_embeddings":32,"rms_norm_eps":1e-5,"tie_word_embeddings":true}'
steps=(--data "$dir/shards" --model "$dir/model.json" --schedule constant --warmup-steps 0)

expect_exit 0 train "$dir/run" "${steps[@]}" --steps 2
grep -qF "\"data\": \"$escaped/shards\"" "$dir/run/run.json" || fail "run.json: $(cat "$dir/run/run.json")"
grep -qF "\"path\":\"$escaped/run/checkpoints/step-00000002.g1\"" "$dir/run/metrics.jsonl" || fail "metrics"
python3 -m json.tool "$dir/run/run.json" >/dev/null || fail "run.json is no JSON"
# The same options are no change; a resume goes on; one from outside is remembered by its path.
expect_exit 0 train "$dir/run" "${steps[@]}" --steps 3
expect_match stderr "resuming from .*step-00000002.g1"
! grep -qF '"option": "data"' "$dir/run/run.json" || fail "the same path counts as another"
checkpoint=$(dt-checkpoint latest "$dir/run")
expect_equal "$checkpoint" "$dir/run/checkpoints/step-00000003.g2"
expect_exit 0 train "$dir/other" "${steps[@]}" --steps 4 --resume "$checkpoint"
rm -r "$dir/other/checkpoints/step-00000004.g1"
expect_exit 0 train "$dir/other" "${steps[@]}" --steps 4
expect_match stderr "resuming from .*/run/checkpoints/step-00000003.g2"

# expect_path COMMAND...: its JSON names a path in the folder, escaped.
expect_path() {
  expect_exit 0 "$@"
  grep -qF "$escaped/" stdout || fail "$*: $(cat stdout)"
  python3 -c 'import json; [json.loads(line) for line in open("stdout", encoding="utf-8")]' || fail "$*: no JSON"
}
expect_path dt-checkpoint list --json "$dir/run"
expect_path dt-checkpoint latest --json "$dir/run"
expect_path dt-checkpoint show --json "$checkpoint"
expect_path dt-checkpoint verify --json "$checkpoint"
expect_path dt-checkpoint reshard --json "$checkpoint" "$dir/resharded" --layout dp=2
expect_path dt-merge --json "$checkpoint" --out "$dir/merged"
expect_path dt-checkpoint import --json "$dir/merged" "$dir/imported"
expect_path dt-train --json --dry-run --run "$dir/run" "${steps[@]}" --sequence-length 32 --steps 9
expect_exit 0 dt-allreduce-bench -e 64 -n 1 -w 0 --csv "$dir/bench.csv" --json-file "$dir/bench.json"
python3 -m json.tool "$dir/bench.json" >/dev/null || fail "bench.json is no JSON"
expect_exit 0 dt-shard-data --show "$dir/shards" --json
cp -r "$dir/run/checkpoints" "$dir/kept"
scratch_weights "$checkpoint" rank-00000.h5
expect_exit 0 train "$dir/run" "${steps[@]}" --steps 4
grep -qF "\"passed_over\":[{\"path\":\"$escaped/run" "$dir/run/metrics.jsonl" || fail "passed_over: $(cat "$dir/run/metrics.jsonl")"
