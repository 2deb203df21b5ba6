#!/usr/bin/env bash
# --dry-run checks and estimates, and changes nothing.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

expect_exit 0 train run --steps 100 --dry-run
expect_match stdout '^memory_bytes'
expect_absent run
expect_exit 0 train run --steps 100 --dry-run --json
expect_match stdout '"warmup_steps":1,'
expect_match stdout '"arriving_bytes":0,'
expect_exit 0 train run --steps 100 --dry-run --json --comm threads=2 --comm-bucket-bytes 64Ki
expect_match stdout '"arriving_bytes":65536,'
expect_exit 0 dt-train --model llama-8b --data shards --steps 10 --dry-run --threads 1 --sequence-length 64
expect_match stdout 'parameters +8,030,261,248'
expect_match stderr 'warning: this run needs .* of memory per host'
expect_exit 0 train run --steps 100 --dry-run --comm threads=5 --pp 2 --zero 1 --pp-schedule zero-bubble --virtual-stages 2
for line in 'ranks +4' 'pp +2' 'pp_schedule +zero-bubble' 'virtual_stages +2' 'stage_units +1,1,1,1' 'dp +2' 'zero +1'; do
  expect_match stdout "^$line\$"
done
expect_match stderr '1 of 5 ranks would be idle'
# The most loaded rank's memory: GPipe's first stage holds every micro-batch.
held() {
  expect_exit 0 train run --steps 100 --dry-run --json --comm threads=2 --global-batch 64 --stage-units 3,1 --pp 2 "$@"
  json_value stdout activations_bytes
}
(($(held --pp-schedule gpipe) > $(held --pp-schedule 1f1b))) || fail "GPipe holds no more than 1F1B"
expect_equal "$(json_value stdout most_loaded_stage)" 0
(($(json_value stdout host_memory_bytes) > $(json_value stdout memory_bytes))) || fail "a host holds no more than a rank"
expect_exit 2 dt-train --model llama-tiny --data shards --steps 1 --dry-run --global-batch 3 --micro-batch 2
expect_exit 3 dt-train --model llama-tiny --data shards --steps 1 --dry-run --sequence-length 1000
# Passes over the one dataset, time and disk.
expect_exit 0 train run --steps 100 --dry-run --json --save-every 10 --keep-last 2 --keep-every 50 --rank-flops 1e9
expect_equal "$(json_value stdout checkpoints)" 5 "checkpoints: two, those of steps 50 and 100, and one that is written"
expect_equal "$(json_value stdout disk_bytes)" "$((5 * 12 * $(json_value stdout parameters)))" "bytes on disk"
windows=$(($(json_value stdout train_tokens) / 32))
awk -v e="$(json_value stdout epochs)" -v w="$windows" 'BEGIN { x = 800 / w; exit !(e > x * 0.99 && e < x * 1.01) }' || fail "epochs"
awk -v s="$(json_value stdout step_s)" -v t="$(json_value stdout total_s)" 'BEGIN { exit !(s > 0 && t > 99 * s && t < 101 * s) }' || fail "times"

# For ranks that are not there, without data, on GPUs: nothing of this machine is asked.
paper=(dt-train --model llama-8b --steps 1000 --tp 8 --global-batch 64 --device cuda --ranks 32 --ranks-per-node 8)
expect_exit 0 "${paper[@]}" --dry-run --json
expect_match stderr 'without --data, the number of epochs'
for line in '"ranks":32,' '"dp":4,' '"tp":8,' '"device":"cuda"' '"gpu_memory_bytes":[0-9]+' '"nccl_bytes":[1-9][0-9]{8,},'; do expect_match stdout "$line"; done
if grep -q 'warning' stderr; then cat stderr; fail "a warning of this machine"; fi
slow=$("${paper[@]}" --dry-run --quiet --json --node-bandwidth 1e9 --link-bandwidth 1e9 | sed -nE 's/.*"step_s":([0-9.e+-]+).*/\1/p')
near=$("${paper[@]}" --dry-run --quiet --json --node-bandwidth 1e12 --link-bandwidth 1e9 | sed -nE 's/.*"step_s":([0-9.e+-]+).*/\1/p')
far=$("${paper[@]}" --dry-run --quiet --json --node-bandwidth 1e9 --link-bandwidth 1e12 | sed -nE 's/.*"step_s":([0-9.e+-]+).*/\1/p')
awk -v slow="$slow" -v near="$near" -v far="$far" 'BEGIN { exit !(near < slow && far < slow && near < far) }' || fail "links: $slow $near $far"
expect_exit 0 "${paper[@]}" --show-schedule --json
expect_match stdout '"kind":"step".*"total_s":'
expect_exit 0 "${paper[@]}" --show-schedule --json --precision bf16 --roofline h100
expect_match stdout '"kind":"operation","name":"MLP up","of":"products",.*"waves":'
expect_match stdout '"kind":"roofline","gpu":"h100",.*"mfu":0\.[2-9]'
expect_exit 0 dt-train --model gpt2-124m --steps 1 --precision bf16 --show-schedule --roofline b200
expect_match stdout 'predicted step time on b200: .*, MFU 0\.'
expect_exit 2 "${paper[@]}" --show-schedule --roofline h100
expect_match stderr 'use --precision bf16'
expect_exit 2 "${paper[@]}" --show-schedule --precision bf16 --roofline v100
expect_match stderr -- '--roofline v100 is not a known GPU; expected one of: a100, h100, h200, b200'
expect_exit 2 "${paper[@]}" --dry-run --ranks-per-node 7
expect_match stderr -- '--ranks 32 is not a multiple of --ranks-per-node 7; use --ranks 35'
expect_exit 2 dt-train --model llama-tiny --epochs 1 --dry-run --ranks 2
expect_match stderr -- '--epochs 1 needs --data'
expect_exit 2 dt-train --model llama-tiny --steps 1 --dry-run --ranks 2 --tp 4
expect_match stderr 'this layout needs 4 ranks \(tp 4\); --ranks is 2'
expect_exit 2 mpi 2 dt-train --model llama-tiny --steps 1 --dry-run --ranks 2
expect_match stderr -- '--ranks 2 plans without real ranks, but the launcher started 2'

train run --steps 4 >/dev/null || fail "a run"
expect_exit 0 train run --steps 100 --dry-run
expect_match stdout 'from +run/checkpoints/step-00000004.g1'
expect_equal "$(find run/generations -name "*.json" | wc -l)" 1 "generations"
