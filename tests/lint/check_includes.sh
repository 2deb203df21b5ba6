#!/usr/bin/env bash
# check_includes.sh [ROOT]: reads the #include lines under libcore and cmd and lists what breaks the house's rules:
#   arrows      a module includes one that it may not (libcore's modules point downwards only)
#   folders     a folder within a module includes one that it may not; "." is the module's top. A source at the top assembles
#               the module, and may include all of it
#   quarantine  a third-party header is seen outside the place that it is confined to
#   circles     files include each other
#   paths       a quoted include is not relative to libcore or to the root
# Exit codes: 0 clean, 1 something is listed, 2 usage.
set -euo pipefail

[[ $# -le 1 ]] || {
  echo "usage: check_includes.sh [ROOT]" >&2
  exit 2
}
root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
cd "$root"
[[ -d libcore ]] || {
  echo "check_includes.sh: $root has no libcore" >&2
  exit 2
}

roots=(libcore)
[[ -d cmd ]] && roots+=(cmd)
mapfile -t files < <(find "${roots[@]}" -type f \
  \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort)
[[ ${#files[@]} -gt 0 ]] || exit 0

awk '
  # What a module may include besides itself; lower ones come with it.
  BEGIN {
    arrows["base"] = ""
    arrows["tensor"] = "base"
    arrows["kernels"] = "tensor"
    arrows["comm"] = "kernels"
    arrows["tokenizer"] = "base"
    arrows["data"] = "tokenizer"
    arrows["model"] = "kernels"
    arrows["parallel"] = "model comm"
    arrows["optim"] = "kernels"
    arrows["checkpoint"] = "model"
    arrows["convert"] = "checkpoint"
    arrows["run"] = "checkpoint comm"
    arrows["plan"] = "parallel optim data checkpoint"
    arrows["profile"] = "parallel"
    arrows["train"] = "run plan convert profile"
    arrows["equivalence"] = "train"
    arrows["bench"] = "comm"
    for (module in arrows) allow(module, module)
    # What a folder within a module may include besides itself. A folder that is not named here is an offence.
    folders("base", "text: .  numeric: . text  system: . text  io: . numeric system text  hdf5: . io numeric  cli: . io numeric system text")
    folders("tensor", "device:  .: device  cuda: . device")
    folders("kernels", "reference: .  cpu/simd: .  cpu/gemm: . cpu/simd  cpu: . cpu/gemm cpu/simd  cpu/attention: . cpu cpu/gemm cpu/simd")
    folders("kernels", "cuda/launch: .  cuda/matmul: . cuda/launch  cuda/matmul/cublas_lt: . cuda/launch cuda/matmul")
    folders("kernels", "cuda/attention: . cuda/launch  cuda/attention/cudnn: . cuda/launch cuda/attention")
    folders("kernels", "cuda: . cuda/launch cuda/matmul cuda/attention")
    folders("comm", "core:  node: core  device_collectives: core node  .: core node device_collectives  algorithms: . core node")
    folders("comm", "diagnostics: . core  topology: . core device_collectives  threads: . core  mpi: . core threads")
    folders("comm", "nccl: . core device_collectives diagnostics")
    folders("tokenizer", "unicode:  encode: unicode  files: encode unicode  train: encode")
    folders("data", "input: .  read: .  build: . input read")
    folders("model", "tensor_parallel: .  layers: . tensor_parallel  units: . layers tensor_parallel  hf: . layers hf/families  hf/families: . layers hf")
    folders("parallel", "schedule:  schedule/drawing: schedule  state: schedule  engine: schedule state")
    folders("run", "local: .  save: . local")
    folders("plan", "memory: .  time: .")
    folders("train", "report:  step: report  start: report step  evaluate: report step  .: report step start evaluate")
    for (i = 1; i < ARGC; ++i) is_file[ARGV[i]] = 1
  }

  function allow(module, lower,    names, count, i) {
    allowed[module, lower] = 1
    count = split(arrows[lower], names, " ")
    for (i = 1; i <= count; ++i) allow(module, names[i])
  }

  # "folder: lower lower  folder: lower": two blanks or more part the folders.
  function folders(module, table,    rows, row, num_rows, names, count, i) {
    num_rows = split(table, rows, /  +/)
    for (row = 1; row <= num_rows; ++row) {
      count = split(rows[row], names, /:? /)
      sub(/:$/, "", names[1])
      is_folder[module, names[1]] = 1
      for (i = 2; i <= count; ++i) may_include[module, names[1], names[i]] = 1
    }
  }

  # "libcore/kernels/cpu/gemm/x.cpp" -> "cpu/gemm", "libcore/kernels/x.hpp" -> "."
  function folder_of(path) {
    sub(/^[^\/]+\/[^\/]+\//, "", path)
    return sub(/\/[^\/]*$/, "", path) ? path : "."
  }

  function check_folder(name, target,    module, from, to) {
    module = module_of(FILENAME)
    if (module == "cmd" || module != module_of(target)) return
    from = folder_of(FILENAME)
    to = folder_of(target)
    if (from == to || (from == "." && FILENAME ~ /\.(cpp|cu)$/)) return
    if (from != "." && !((module, from) in is_folder)) {
      offend("folders", FILENAME ": " module " has no folder \"" from "\"")
    } else if (!((module, from, to) in may_include)) {
      offend("folders", FILENAME ":" FNR ": " from " of " module " may not include " to " (" name ")")
    }
  }

  function offend(rule, text) {
    printf "%s: %s\n", rule, text
    ++offences
  }

  # "libcore/comm/mpi/x.cpp" -> "comm", "cmd/dt-train/main.cpp" -> "cmd"
  function module_of(path,    parts) {
    split(path, parts, "/")
    return parts[1] == "cmd" ? "cmd" : parts[2]
  }

  function resolve(name) {
    if (("libcore/" name) in is_file) return "libcore/" name
    if (name in is_file) return name
    return ""
  }

  function confine(header, pattern, place, place_pattern) {
    if (header ~ pattern && FILENAME !~ place_pattern) {
      offend("quarantine", FILENAME ":" FNR ": <" header "> is confined to " place)
    }
  }

  function check_quarantine(header,    stem) {
    confine(header, "^mpi\\.h$", "libcore/comm/mpi", "^libcore/comm/mpi/")
    confine(header, "^nccl(_.*)?\\.h$", "libcore/comm/nccl", "^libcore/comm/nccl/")
    confine(header, "^(hdf5|H5.*)\\.h(pp)?$", "libcore/base/hdf5/hdf5_{file,library}*", "^(libcore/base/hdf5/hdf5_(file|library)|tests/support/hdf5_)[^/]*$")
    confine(header, "^(oneapi/dnnl/|dnnl).*$", "tests/bench", "^tests/bench/")
    confine(header, "^boost/asio", "libcore/base/io/tcp.cpp", "^libcore/base/io/tcp\\.cpp$")
    if (header !~ /^boost\/asio/) confine(header, "^boost/", "libcore/base/cli/options.*", "^libcore/base/cli/options\\.[a-z]+$")
    confine(header, "^(nlohmann/json\\.hpp|simdjson)", ".cpp files", "\\.cpp$")
    if (header ~ /^(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nvml|nvrtc|nvtx3?\/|nvToolsExt|thrust\/|cub\/|cooperative_groups|device_launch|mma\.h)/) {
      if (FILENAME ~ /^libcore\/tensor\/[^\/]+\.(hpp|cpp)$/) {
        stem = FILENAME
        sub(/\.[a-z]+$/, "", stem)
        cuda_stems[stem] = 1
      } else {
        confine(header, "^", "*.cu files, libcore/comm/nccl and one file pair of libcore/tensor", "\\.cuh?$|^libcore/comm/nccl/")
      }
    }
  }

  function check_arrow(name, target,    from, to) {
    from = module_of(FILENAME)
    to = module_of(target)
    if (from != "cmd" && !(from in arrows)) {
      offend("arrows", FILENAME ": libcore has no module \"" from "\"")
    } else if (from != "cmd" && !((from, to) in allowed)) {
      offend("arrows", FILENAME ":" FNR ": " from " may not include " to " (" name ")")
    }
  }

  /^[ \t]*#[ \t]*include[ \t]*["<]/ {
    line = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
    quoted = substr(line, 1, 1) == "\""
    line = substr(line, 2)
    name = substr(line, 1, match(line, /[">]/) - 1)
    target = resolve(name)
    if (target == "") {
      check_quarantine(name)
      if (quoted) offend("paths", FILENAME ":" FNR ": \"" name "\" is not relative to libcore or to the root")
    } else {
      check_arrow(name, target)
      check_folder(name, target)
      includes[FILENAME, ++num_includes[FILENAME]] = target
    }
  }

  # Depth first; a file that is met again while its own includes are being followed closes a circle.
  function follow(file, trail,    i) {
    state[file] = "open"
    for (i = 1; i <= num_includes[file]; ++i) visit(includes[file, i], trail)
    state[file] = "done"
  }
  function visit(file, trail) {
    if (state[file] == "open") {
      offend("circles", substr(trail, index(trail " ", file " ")) " -> " file)
    } else if (state[file] == "") {
      follow(file, trail " -> " file)
    }
  }

  END {
    for (i = 1; i < ARGC; ++i) if (state[ARGV[i]] == "") follow(ARGV[i], ARGV[i])
    for (stem in cuda_stems) stems = stems " " stem ".*"
    if (split(stems, parts, " ") > 1) offend("quarantine", "CUDA headers are seen by more than one file pair of libcore/tensor:" stems)
    exit offences > 0
  }
' "${files[@]}"
