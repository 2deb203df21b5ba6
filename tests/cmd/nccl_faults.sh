# Sourced by cases in which ranks that talk through NCCL (played on the test device, or the machine's own; see nccl.sh) are killed, stop
# or, where it is played, meet its errors and hang in it.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/nccl.sh"
source "$(dirname "${BASH_SOURCE[0]}")/kill_ranks.sh"

# end_after FAULT OPERATION: one of two ranks meets it in that operation of NCCL's. Both end, with exit 4 or that of a rank that
# another has ended, and nothing is left.
end_after() {
  local code=0 run=broken-$1-$2
  arguments "$run" "${small[@]}" --steps 100 --quiet --comm-timeout 1s
  mpi 1 env "DT_TEST_NCCL_$1=$2" dt-train "${train_args[@]}" : -n 1 dt-train "${train_args[@]}" >out 2>err || code=$?
  expect_equal "$code" 4 "exit of $1 in operation $2"
  grep -qE 'rank [01] on .*(unhandled system error|did not complete within)' err || {
    cat err >&2
    fail "$1 in operation $2 is not told"
  }
  ! pgrep -f "broken-$1-$2" >/dev/null || fail "$1 in operation $2: a process is left"
}

# stop_a_rank NUMBER: of two that train; the other names it, and both end.
stop_a_rank() {
  local victim=$((RANDOM % 2 + 1))
  start 2 "stopped-$1" "${small[@]}" --steps 1000000 --schedule constant --quiet --comm-timeout 2s
  kill -STOP "$(nth $victim)"
  expect_over "SIGSTOP of rank $((victim - 1))"
  expect_equal "$code" 4 "exit after SIGSTOP of rank $((victim - 1))"
  expect_match launcher.err "rank $((victim - 1)) on $(hostname) .*silent"
}

# nccl_faults KILLS OTHERS: kills as kill_ranks has them, then as many ranks that stop, errors, and operations that hang.
nccl_faults() {
  local i
  make_shards shards
  need_nccl 2
  if [[ -z ${DT_GPU_TRAIN:-} ]]; then
    mkdir bin
    ln -s "$(command -v dt-train-on-test-device)" bin/dt-train
    PATH=$PWD/bin:$PATH
  fi
  echo '{"model_type":"gpt2","vocab_size":259,"n_embd":32,"n_inner":67,"n_layer":2,"n_head":4,"n_positions":32}' >small.json
  small=(--model small.json --device cuda --sequence-length 16 --global-batch 2 --micro-batch 1)
  kill_ranks "$1" "$((10 * $1))" "${small[@]}"
  expect_exit 0 train_as mpi=2 asked "${small[@]}" --steps 1
  expect_match stderr 'between GPUs: NCCL' # without being asked
  for ((i = 0; i < $2; ++i)); do stop_a_rank "$i"; done
  [[ -z ${DT_GPU_TRAIN:-} ]] || { echo "$1 ranks killed, $2 stopped" && return; }
  for ((i = 0; i < $2; ++i)); do
    end_after ERROR $((RANDOM % 200 + 1))
    end_after HANG $((RANDOM % 200 + 1))
  done
  echo "$2 ranks stopped, $2 errors and $2 hangs of NCCL's"
}
