#!/usr/bin/env bash
# gpu-check.sh [SECTION...]: checks what dt promises on GPUs, on this machine's first GPU, in less than nine minutes and without a network.
# Sections, all by default: kernels sanitizer training layouts checkpoints nccl bench saving. It ends with a table, and with exit code 1 if
# a check failed.
# It skips checks that need what this machine lacks (a GPU, compute-sanitizer, a Python with torch), and says so. TORCH_PYTHON names a Python
# that has torch. DT_GPU_CHECK_LOGS names a folder for the output of the checks (default: gpu-check-logs in the working directory).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "${DT_GPU_CHECK_LOGS:=gpu-check-logs}" || exit 1
if [[ -L $DT_GPU_CHECK_LOGS || ! -O $DT_GPU_CHECK_LOGS ]]; then
  echo "gpu-check.sh: $DT_GPU_CHECK_LOGS is not a folder that you own; name another in DT_GPU_CHECK_LOGS" >&2
  exit 1
fi
logs=$(cd "$DT_GPU_CHECK_LOGS" && pwd)
rm -f "$logs"/[0-9][0-9][0-9]*.{log,row}
all_sections=(kernels sanitizer training layouts checkpoints nccl bench saving)
overall_s=530 # for all of it
work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-check-XXXXXX")
trap 'rm -rf "$work"' EXIT

torch_library_path=${LD_LIBRARY_PATH:-} # PyTorch has CUDA's libraries of its own
export here work PATH=$here/bin:$PATH DT_TESTS=$here/tests DT_GPU_TRAIN=dt-train
num_rows=0

# row CHECK BOUND MEASURED RESULT: a line of the table; results: ok, FAIL, skipped.
row() {
  printf -v number %03d $((++num_rows))
  write_row "$number" "$@"
}
write_row() { printf '%s\t%s\t%s\t%s\n' "$2" "$3" "$4" "$5" >"$logs/$1.row"; }

# seconds_for N: as many, or what is left of all.
seconds_for() {
  local left=$((overall_s - SECONDS))
  echo $((left < 1 ? 1 : left < $1 ? left : $1))
}

# bounded SECONDS COMMAND...: its status, 124 where it had to be ended.
bounded() {
  timeout --kill-after=5 "$(seconds_for "$1")" "${@:2}"
}

# last_words LOG: why it ended as it did, on one line.
last_words() {
  grep -v '^[[:space:]]*$' "$1" | tail -n 1 | tr '\t' ' ' | cut -c 1-150
}

# outcome NUMBER CHECK BOUND STATUS LOG TOOK_S
outcome() {
  local took="$6 s" log=$5
  case $4 in
    0) write_row "$1" "$2" "$3" "$(last_words "$log") [$took]" ok ;;
    77) write_row "$1" "$2" "$3" "$(last_words "$log" | sed 's/^SKIP: //')" skipped ;;
    124 | 137) write_row "$1" "$2" "$3" "not done after $took ($log)" FAIL ;;
    *) write_row "$1" "$2" "$3" "exit $4: $(last_words "$log") ($log)" FAIL ;;
  esac
}

# start_check CHECK BOUND SECONDS COMMAND...: a row of how the command ends, and with which last line; `wait` waits for it.
start_check() {
  local name=$1 bound=$2 budget=$3 number log
  shift 3
  printf -v number %03d $((++num_rows))
  if ((overall_s - SECONDS < 5)); then
    write_row "$number" "$name" "$bound" "no time left of $overall_s s: run its section by itself" skipped
    return
  fi
  log=$logs/$number-${name//[^a-z0-9]/-}.log
  echo "  $name ..." >&2
  {
    local begin=$SECONDS status=0
    bounded "$budget" "$@" >"$log" 2>&1 </dev/null || status=$?
    outcome "$number" "$name" "$bound" $status "$log" $((SECONDS - begin))
  } &
}
# check ...: the same, alone.
check() {
  start_check "$@"
  wait
}

# case_of FILE [ARGUMENTS]: one of the tools' cases, with its measurements, or that it passed if it prints none.
case_of() { bash "$DT_TESTS/cmd/$1" "${@:2}" && echo passed; }
export -f case_of

# What the loader does not find of cuBLASLt, cuDNN and the compiler that it calls: a toolkit's folder, or those of a python's packages.
find_cuda_libraries() {
  local library folder packages
  packages=$("${TORCH_PYTHON:-python3}" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
  for library in 'libcublasLt.so.1[23]' 'libcudnn.so.9' 'libcudart.so.1[23]' 'libnvrtc.so.1[23]' 'libnccl.so.2'; do
    if ldconfig -p 2>/dev/null | grep -q "$library"; then continue; fi
    for folder in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib "${packages:-/usr/local/lib/python3/dist-packages}"/nvidia/*/lib; do
      if compgen -G "$folder/$library" >/dev/null; then
        export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        break
      fi
    done
  done
}

# Why nothing can run; empty where a GPU answers.
missing_gpu() {
  local said status=0
  said=$("$here/bin/gpu_tensor" --list-tags 2>&1) || status=$?
  [[ $status != 77 ]] || sed -n 's/^SKIP: //p' <<<"$said"
  [[ $status != 126 && $status != 127 ]] || echo "$here/bin/gpu_tensor does not start: $said"
}

# --- sections

# one_case RESULTS END COMMAND... CASE: of the kernels' tests, by COMMAND; a line in the file RESULTS, unless it is past END.
one_case() {
  local results=$1 end=$2 name=${!#} status=0 left
  left=$((end - $(date +%s)))
  ((left > 0)) || return 0
  # Commas part the patterns that a program takes.
  timeout --kill-after=5 $left "${@:3:$#-3}" "$here/bin/gpu_kernels" "${name//,/\\,}" || status=$?
  case $status in
    0) echo good ;;
    124 | 137) ;;
    *) echo bad && echo "FINDING (exit $status): $name" >&2 ;;
  esac >>"$results"
}

# each_case SECONDS all|some COMMAND...: all of them, several at a time, while there is time. Fails where any does, or all or
# some were not tried.
each_case() {
  local end=$(($(date +%s) + $1)) names results jobs=$(($(nproc) / 3)) good bad total
  results=$(mktemp "$work/XXXXXX") names=$(mktemp "$work/XXXXXX")
  "$here/bin/gpu_kernels" --list-test-names-only '[device]' >"$names"
  xargs -d '\n' -n 1 -P $((jobs < 1 ? 1 : jobs)) bash -c 'one_case "$@"' _ "$results" "$end" "${@:3}" <"$names"
  good=$(grep -c good "$results") bad=$(grep -c bad "$results")
  total=$(wc -l <"$names")
  echo "$bad findings in $((good + bad)) of $total cases"
  ((bad == 0 && good > 0)) && [[ $2 == some || $good == "$total" ]]
}
export -f one_case each_case

# Where weights of one key-value head do not fit: how cuDNN sums then, and in which memory.
ordered_sums() {
  local said status=0
  said=$("$here/bin/gpu_kernels" '[.ordered]') || status=$?
  if ((status == 0)); then grep 'scratch memory' <<<"$said" | tail -n 1; else echo "$said"; fi
  return $status
}
# With a CUDA runtime that is not there, dt's own kernels attend.
without_runtime() {
  CUDNN_FRONTEND_CUDART_LIB_NAME=/nonexistent/libcudart.so "$here/bin/gpu_kernels" "attention_backward over queries*" && echo "dt's own kernels attend"
}
export -f ordered_sums without_runtime

# Every test that uses a device: kernels against their references, copies, messages between ranks, sums, state, golden data.
kernels() {
  local program
  for program in "$here"/bin/gpu_*; do
    [[ $program != */gpu_rates ]] || continue # measured by bench
    if [[ $program == */gpu_kernels ]]; then
      start_check "tests: gpu_kernels" "all pass" 150 bash -c 'each_case 140 all env'
    else
      start_check "tests: $(basename "$program")" "all pass" 150 "$program" '[device]'
    fi
  done
  wait
  check "attention's backward whose weights do not fit, twice" "same bits, as estimated, 3e-2 of own" 60 bash -c ordered_sums
  check "cuDNN without its CUDA runtime" "declined, nothing dies" 30 bash -c without_runtime
}

sanitizer() {
  local tool
  sanitizer=$(command -v compute-sanitizer || compgen -G '/usr/local/cuda*/bin/compute-sanitizer' | tail -n 1)
  export sanitizer
  for tool in memcheck racecheck initcheck; do
    if [[ -z $sanitizer ]]; then
      row "compute-sanitizer $tool" "0 findings" "compute-sanitizer is neither on PATH nor in /usr/local/cuda*/bin" skipped
    else # 86 is no status of a test's own
      start_check "compute-sanitizer $tool" "0 findings" 125 bash -c "each_case 115 some \"\$sanitizer\" --tool $tool --error-exitcode 86"
    fi
  done
  wait
}

training() {
  export DT_SHAKESPEARE=${DT_SHAKESPEARE:-$DT_TESTS/tinyshakespeare.txt}
  check "training as on the CPU, twice the same bits" "fp32 1e-5, fp64 1e-12, 16 bits 2e-3" 120 bash -c 'case_of dt-train/trains_on_device.sh'
  check "tiny Shakespeare in fp32, bf16, fp16" "within 0.02 of fp32's loss" 200 bash "$DT_TESTS/cmd/dt-train/long_shakespeare.sh"
}

layouts() {
  start_check "layouts of ranks that share the GPU" "same bits as promised" 120 bash -c 'case_of dt-train/device_layouts.sh'
  start_check "50 steps of four families in all layouts" "1e-5 of the CPU's" 150 bash -c 'case_of dt-train/long_device.sh'
  wait
}

checkpoints() {
  check "checkpoints: CPU to GPU to CPU" "same bits" 60 bash -c 'case_of dt-train/device_checkpoints.sh'
}

# has_library NAME: where the loader looks.
has_library() {
  local folders folder
  if ldconfig -p 2>/dev/null | grep -q "$1"; then return; fi
  IFS=: read -r -a folders <<<"${LD_LIBRARY_PATH:-}"
  for folder in "${folders[@]}"; do
    [[ ! -e $folder/$1 ]] || return 0
  done
  return 1
}

# cost_of_order RANKS: times of dt's order over those of NCCL's own.
cost_of_order() {
  # shellcheck source=/dev/null
  source "$DT_TESTS/cmd/nccl_layouts.sh"
  make_shards shards
  need_nccl "$1"
  mpi "$1" dt-allreduce-bench --device cuda --backend dt,nccl -b 1Mi -e 256Mi -f 16 --json --quiet >rows || return
  sed -nE 's/.*"backend":"([a-z]+)","size":([0-9]+),.*"out_of_place":\{"time_us":([0-9.e+]+).*/\1 \2 \3/p' rows |
    awk '$1 == "dt" {dt[$2] = $3} $1 == "nccl" && dt[$2] {printf "%d MiB %.2f; ", $2 / 2^20, dt[$2] / $3; found = 1} END {print "dt ÷ NCCL"; exit !found}'
}
export -f cost_of_order

# nccl_memory: what NCCL took of a GPU's memory, beside the estimate; fails where that is more than a tenth off.
nccl_memory() {
  local status=0
  cd "$work" || return
  "$here/bin/gpu_comm" '[.nccl-memory]' >said 2>&1 || status=$?
  grep -E '^(NCCL took|SKIP: )' said | tail -n 1
  if grep -q '^SKIP: ' said; then return 77; fi
  return $status
}
export -f nccl_memory

# Ranks as threads and as processes, each on a GPU; on one GPU several where NCCL is 2.30 or newer. Alone, the section tries more faults.
nccl() {
  export NCCL_MULTI_RANK_GPU_ENABLE=${NCCL_MULTI_RANK_GPU_ENABLE:-1}
  if ! has_library libnccl.so.2; then
    row "ranks over NCCL" "as over messages" "there is no libnccl.so.2" skipped
    return
  fi
  local faults=3 ranks
  [[ $num_sections -gt 1 ]] || faults=20
  check "sums of ranks over NCCL, in dt's order" "the bits of messages" 120 "$here/bin/gpu_comm" '[nccl]'
  check "measuring ranks over NCCL" "right results" 60 "$here/bin/gpu_bench" '[nccl]'
  check "NCCL's memory beside the estimate" "within 10 %" 60 bash -c nccl_memory
  check "layouts over NCCL" "the bits of messages" 120 bash -c 'case_of dt-train/nccl.sh'
  check "$faults ranks killed, $faults hung" "10 s; deadline + 10 s; named" 300 bash -c "case_of dt-train/nccl_faults.sh $faults $faults"
  for ((ranks = 2; ranks <= 4; ++ranks)); do
    check "all-reduce of $ranks ranks of one GPU, dt's order beside NCCL's" "none: nothing of links" 60 bash -c "cost_of_order $ranks"
  done
  check "dt-allreduce-bench beside a plain loop over NCCL" "ratio 1.03 at most" 120 "$here/bin/gpu_bench" '[.nccl-overhead]'
}

# A python that has torch and sees the GPU with it.
find_torch() {
  local python
  for python in "${TORCH_PYTHON:-}" python3 python /opt/*/bin/python3; do
    if [[ -n $python ]] && LD_LIBRARY_PATH=$torch_library_path "$python" -c 'import torch; exit(not torch.cuda.is_available())' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

# A model of each family, with the positions that it is measured at.
write_models() {
  echo '{"model_type":"gpt2","vocab_size":50257,"n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024}' >gpt2-124m.json
  echo '{"model_type":"llama","vocab_size":32000,"hidden_size":2048,"intermediate_size":5632,"num_hidden_layers":22,"num_attention_heads":32,
    "num_key_value_heads":4,"max_position_embeddings":4096}' >llama-1b.json
}

# said PATTERN: of dt-train's messages, with sed.
said() { sed -nE "$1" said | tail -n 1; }

# dt_speed MODEL LENGTH MICRO_BATCH GLOBAL_BATCH: of the best step after the first ones; in those that are profiled, for how long the
# GPU has nothing to do; how long the run takes beside its steps, and of that to save the state at its end.
dt_speed() {
  local begin
  seq 1 400000 >text && dt-shard-data --quiet --out shards text >/dev/null || return
  begin=$EPOCHREALTIME
  dt-train --model "$1.json" --data shards --run run --device cuda --precision bf16 --sequence-length "$2" --micro-batch "$3" \
    --global-batch "$4" --steps 14 --profile 12-14 --lr 1e-4 --save-every 0 --eval-batches 1 --peak-flops 989e12 2>said >&2 ||
    { cat said >&2 && return 1; }
  sed -nE -e 's/.*"kind":"train","step":([0-9]+),.*"step_s":([0-9.e+-]+),"tokens_per_s":([0-9.e+]+),"mfu":([0-9.e+-]+).*/\1 \3 \4 \2/p' \
    -e 's/.*"kind":"checkpoint",.*"write_s":([0-9.e+-]+).*/saved \1/p' run/metrics.jsonl |
    awk -v begin="$begin" -v end="$EPOCHREALTIME" -v idle="$(said 's/.*idle GPU ([0-9.]+ %).*/\1/p')" -v memory="$(said 's/.* estimated \(([0-9.]+) of the memory used\)/\1/p')" \
      '$1 == "saved" {saved += $2; next}
      {steps += $4}
      $1 > 3 && $1 < 12 && $2 > best {best = $2; mfu = $3}
      END {
        printf "%.0f tokens/s, MFU %.3f, the GPU idle %s, memory estimated ÷ taken %s; ", best, mfu, idle, memory
        printf "beside its steps %.1f s, of them %.1f to save\n", end - begin - steps, saved
        exit !(best > 0)
      }'
}

# torch_speed MODEL LENGTH MICRO_BATCH MODE
torch_speed() {
  "$torch_python" "$here/torch/torch_step.py" --device cuda --model "$1.json" --length "$2" --batch "$3" --steps 10 --modes "$4" |
    sed -nE 's/.*"step_s": ([0-9.e+-]+).*/\1/p' | awk -v tokens=$(($3 * $2)) '{printf "%.0f tokens/s\n", tokens / $1} END {exit NR == 0}'
}
export -f said dt_speed torch_speed

# speeds MODEL LENGTH GLOBAL_BATCH MICRO_BATCH...: dt's and PyTorch's, whose compiled model comes with the last alone.
speeds() {
  local model=$1 length=$2 global=$3 micro mode
  for micro in "${@:4}"; do
    check "dt-train $model bf16, T $length, micro-batch $micro of $global" "none" 90 bash -c "dt_speed $model $length $micro $global"
    rm -rf "$work/run" "$work/shards"
    for mode in eager-autocast compiled-autocast; do
      if [[ -z $torch_python ]]; then
        row "PyTorch $mode, $model, batch $micro" "none" "no python with torch that sees a GPU (TORCH_PYTHON)" skipped
      elif [[ $mode == eager* || $micro == "${!#}" ]]; then
        check "PyTorch $mode, $model, batch $micro" "none" 60 env LD_LIBRARY_PATH="$torch_library_path" bash -c "torch_speed $model $length $micro $mode"
      fi
    done
  done
}

# A row for each kernel that waits for memory: what it moves a second, and which part of what a copy does. Then what launching takes.
kernel_rates() {
  local what measured status=0
  bounded 150 "$here/bin/gpu_rates" >rates 2>said || status=$?
  while IFS=$'\t' read -r what measured; do
    [[ -z $measured ]] || row "$what" "none" "$measured" ok
  done <rates
  ((status == 0)) || row "how fast kernels are" "none" "exit $status: $(last_words said)" FAIL
}

bench() {
  cd "$work" || return
  kernel_rates
  torch_python=$(find_torch)
  export torch_python
  write_models
  check "starting, by CUDA_MODULE_LOADING" "none" 60 bash -c start_times
  rm -rf "$work/shards"
  speeds gpt2-124m 1024 32 4 16 32
  speeds llama-1b 4096 16 2 4
}

# What two steps take from the program's start, as dt loads kernels and with all of them loaded beforehand. The first run also reads
# the programs and libraries from disk.
start_times() {
  local loading begin times=
  seq 1 40000 >text && dt-shard-data --quiet --out shards text >/dev/null || return
  for loading in LAZY LAZY EAGER; do
    rm -rf started # a run that has ended would have nothing to do
    begin=$EPOCHREALTIME
    CUDA_MODULE_LOADING=$loading dt-train --model gpt2-124m.json --data shards --run started --device cuda --precision bf16 --sequence-length 256 \
      --micro-batch 2 --global-batch 4 --steps 2 --quiet >/dev/null || return
    times+=$(awk -v l=$loading -v b="$begin" -v e="$EPOCHREALTIME" 'BEGIN {printf "%s %.1f s; ", l, e - b}')
  done
  echo "${times}a run of two steps"
}
export -f start_times

# What steps of GPT-2 1.5B take while its state is saved, over what they take otherwise; and for how long they stop for it. The state and
# another, at the end, have 38 GB.
save_beside_steps() {
  local free_gb
  free_gb=$(df --output=avail -B 1000000000 . | tail -n 1)
  if ((free_gb < 45)); then
    echo "SKIP: two checkpoints of GPT-2 1.5B take 38 GB, and $PWD has $((free_gb)) (TMPDIR)"
    return 77
  fi
  echo '{"model_type":"gpt2","vocab_size":50257,"n_embd":1600,"n_layer":48,"n_head":25,"n_positions":1024}' >gpt2-1.5b.json
  seq 1 400000 >text && dt-shard-data --quiet --out shards text >/dev/null || return
  dt-train --model gpt2-1.5b.json --data shards --run run --device cuda --precision bf16 --sequence-length 1024 --micro-batch 4 \
    --global-batch 16 --steps 119 --save-every 60 --lr 1e-4 --eval-batches 1 --keep-last 1 --quiet >/dev/null || return
  values() { sed -nE "s/.*\"kind\":\"$1\",\"step\":([0-9]+),.*\"$2\":([0-9.e-]+).*/\1 \2/p" run/metrics.jsonl; }
  local saved
  saved=$(values checkpoint write_s | head -n 1)
  values train step_s | awk -v began="${saved% *}" -v took="${saved#* }" -v stalled="$(values checkpoint stall_s | head -n 1)" '
    $1 > 3 && $1 <= began {before += $2; ++before_count}
    $1 > began && since < took {since += $2; ++during}
    END {
      sub(/.* /, "", stalled)
      if (!during || !before_count) exit 1
      ratio = since / during / (before / before_count)
      printf "%.3f over %d steps, stalled for %.0f ms, saved in %.1f s%s\n", ratio, during, 1e3 * stalled, took,
        since < took ? ": longer than training went on" : ""
      exit !(ratio <= 1.05 && (stalled <= 0.02 || since < took))
    }'
}
export -f save_beside_steps

saving() {
  cd "$work" || return
  check "steps of GPT-2 1.5B while saved ÷ otherwise" "1.05, stalled for 20 ms at most" 300 bash -c save_beside_steps
}

table() {
  local count
  echo
  cat "$logs"/*.row | awk -F '\t' 'BEGIN {printf "%-52s  %-36s  %-8s %s\n", "check", "bound", "", "measured"}
    {printf "%-52s  %-36s  %-8s %s\n", $1, $2, $4, $3}'
  for result in ok FAIL skipped; do
    count=$(cat "$logs"/*.row | awk -F '\t' -v result=$result '$4 == result' | wc -l)
    echo -n "$count $result, "
  done
  echo "$SECONDS s; logs in $logs"
  ! cut -f 4 "$logs"/*.row | grep -qx FAIL
}

for section in "$@"; do
  if [[ " ${all_sections[*]} " != *" $section "* ]]; then
    echo "gpu-check.sh: '$section' is none of: ${all_sections[*]}" >&2
    exit 2
  fi
done
[[ $# -gt 0 ]] || set -- "${all_sections[@]}"
num_sections=$#
find_cuda_libraries
missing=$(missing_gpu)
for section in "$@"; do
  echo "$section" >&2
  num_rows=$((num_rows / 100 * 100 + 100))
  if [[ -n $missing ]]; then
    row "$section" "" "$missing" skipped
    continue
  fi
  # In a shell of its own: what ends one ends no other.
  ("$section") || write_row $((num_rows + 99)) "$section" "" "the section ended early, with status $?" FAIL
done
table
