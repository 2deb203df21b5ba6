#!/usr/bin/env bash
# selftest.sh: proves that the checks of this folder pass a clean tree and fail on each kind of violation.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# put FILE LINE...: a file of the tree
put() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$tree/$1"
}

clean_tree() {
  rm -rf "${tree:?}"/* "$tree/.github"
  put libcore/base/a.hpp '#pragma once' '#include <string>'
  put libcore/base/a.cpp '#include "base/a.hpp"' '#include <nlohmann/json.hpp>'
  put libcore/base/cli/options.cpp '#include <boost/program_options.hpp>'
  put libcore/base/io/tcp.cpp '#include <boost/asio.hpp>'
  put libcore/base/hdf5/hdf5_file_reader.cpp '#include <hdf5.h>'
  put libcore/tensor/t.hpp '#pragma once' '#include "base/a.hpp"'
  put libcore/tensor/cuda_device.hpp '#pragma once' '#include <cuda_runtime.h>'
  put libcore/tensor/cuda_device.cpp '#include "tensor/cuda_device.hpp"' '#include <cuda_runtime.h>'
  put libcore/kernels/k.hpp '#pragma once' '#include "tensor/t.hpp"' '#include "base/a.hpp"'
  put libcore/kernels/cpu/gemm/gemm.cpp '#include "kernels/k.hpp"'
  put libcore/kernels/cuda/k.cu '#include <cublas_v2.h>' '#include "kernels/k.hpp"'
  put libcore/comm/mpi/m.cpp '#include <mpi.h>' '#include "tensor/t.hpp"'
  put libcore/comm/nccl/n.cpp '#include <nccl.h>' '#include <cuda_runtime.h>'
  put libcore/comm/c.hpp '#pragma once' '#include "tensor/t.hpp"'
  put libcore/train/loop.hpp '#pragma once' '#include "comm/c.hpp"' '#include "kernels/k.hpp"'
  put cmd/dt-x/options.hpp '#pragma once' '#include "train/loop.hpp"'
  put cmd/dt-x/main.cpp '#include "cmd/dt-x/options.hpp"' '// #include <mpi.h>'
}

report() {
  echo "selftest.sh: $1" >&2
  failures=$((failures + 1))
}

# expect_refusal TEXT: check_includes.sh fails on the tree and says TEXT
expect_refusal() {
  local output
  if output=$("$here/check_includes.sh" "$tree"); then
    report "check_includes.sh accepts what it should refuse: $1"
  elif [[ $output != *"$1"* ]]; then
    report "check_includes.sh does not say '$1' but: $output"
  elif [[ $(wc -l <<<"$output") -ne 1 ]]; then
    report "check_includes.sh lists more than '$1': $output"
  fi
  clean_tree
}

clean_tree
output=$("$here/check_includes.sh" "$tree") || report "check_includes.sh refuses a clean tree: $output"

put libcore/base/up.hpp '#include "tensor/t.hpp"'
expect_refusal 'arrows: libcore/base/up.hpp:1: base may not include tensor (tensor/t.hpp)'
put libcore/kernels/side.cpp '' '#include "comm/c.hpp"'
expect_refusal 'arrows: libcore/kernels/side.cpp:2: kernels may not include comm (comm/c.hpp)'
put libcore/data/d.hpp '#include "tensor/t.hpp"'
expect_refusal 'arrows: libcore/data/d.hpp:1: data may not include tensor (tensor/t.hpp)'
put libcore/run/up.hpp '#include "train/loop.hpp"'
expect_refusal 'arrows: libcore/run/up.hpp:1: run may not include train (train/loop.hpp)'
put libcore/tensor/tool.cpp '#include "cmd/dt-x/options.hpp"'
expect_refusal 'arrows: libcore/tensor/tool.cpp:1: tensor may not include cmd'
put libcore/stray/s.hpp '#include "base/a.hpp"'
expect_refusal 'arrows: libcore/stray/s.hpp: libcore has no module "stray"'

put libcore/base/text/low.hpp '#pragma once' '#include "base/io/high.hpp"'
put libcore/base/io/high.hpp '#pragma once'
expect_refusal 'folders: libcore/base/text/low.hpp:2: text of base may not include io (base/io/high.hpp)'
put libcore/base/up.hpp '#pragma once' '#include "base/io/high.hpp"'
put libcore/base/io/high.hpp '#pragma once'
expect_refusal 'folders: libcore/base/up.hpp:2: . of base may not include io (base/io/high.hpp)'
put libcore/base/odd/s.hpp '#pragma once' '#include "base/a.hpp"'
expect_refusal 'folders: libcore/base/odd/s.hpp: base has no folder "odd"'

put libcore/comm/c.cpp '#include <mpi.h>'
expect_refusal 'quarantine: libcore/comm/c.cpp:1: <mpi.h> is confined to libcore/comm/mpi'
put cmd/dt-x/run.cpp '#include "mpi.h" // quoted'
sed -i 's/"mpi.h"/<mpi.h>/' "$tree/cmd/dt-x/run.cpp"
expect_refusal 'quarantine: cmd/dt-x/run.cpp:1: <mpi.h> is confined'
put libcore/comm/mpi/n.cpp '#include <nccl.h>'
expect_refusal '<nccl.h> is confined to libcore/comm/nccl'
put libcore/data/read/token_shard.cpp '  #  include  <hdf5.h>'
expect_refusal '<hdf5.h> is confined to libcore/base/hdf5/hdf5_{file,library}*'
put libcore/kernels/cpu/gemm/gemm.cpp '#include <oneapi/dnnl/dnnl.hpp>'
expect_refusal '<oneapi/dnnl/dnnl.hpp> is confined to tests/bench'
put libcore/kernels/cpu/gemm/gemm.cpp '#include <dnnl.h>'
expect_refusal '<dnnl.h> is confined to tests/bench'
put libcore/kernels/linear.cpp '#include <cuda_runtime.h>'
expect_refusal '<cuda_runtime.h> is confined to *.cu files'
put libcore/tensor/second.cpp '#include <cuda_runtime.h>'
expect_refusal 'CUDA headers are seen by more than one file pair of libcore/tensor'
put libcore/base/cli/options_help.cpp '#include <boost/program_options.hpp>'
expect_refusal '<boost/program_options.hpp> is confined to libcore/base/cli/options.*'
put libcore/base/hub.cpp '#include <boost/asio/ip/tcp.hpp>'
expect_refusal '<boost/asio/ip/tcp.hpp> is confined to libcore/base/io/tcp.cpp'
put libcore/base/io/json.hpp '#include <nlohmann/json.hpp>'
expect_refusal '<nlohmann/json.hpp> is confined to .cpp files'

put libcore/base/x.hpp '#include "base/y.hpp"'
put libcore/base/y.hpp '#include "base/z.hpp"'
put libcore/base/z.hpp '#include "base/x.hpp"'
expect_refusal 'circles: libcore/base/x.hpp -> libcore/base/y.hpp -> libcore/base/z.hpp -> libcore/base/x.hpp'
put libcore/base/self.hpp '#include "base/self.hpp"'
expect_refusal 'circles: libcore/base/self.hpp -> libcore/base/self.hpp'
put libcore/base/near.cpp '#include "a.hpp"'
expect_refusal 'paths: libcore/base/near.cpp:1: "a.hpp" is not relative to libcore or to the root'

rm -rf "${tree:?}"/*
put libcore/base/good.hpp '#pragma once' '#include <string>' 'inline std::string f() { return {}; }'
output=$("$here/check_headers.sh" --root "$tree") || report "check_headers.sh refuses a clean tree: $output"
put libcore/base/needy.hpp '#pragma once' 'inline std::string g() { return {}; }'
if output=$("$here/check_headers.sh" --root "$tree"); then
  report "check_headers.sh accepts a header that does not stand alone"
elif [[ $output != *'libcore/base/needy.hpp does not compile alone'* || $output == *good.hpp* ]]; then
  report "check_headers.sh does not name the header: $output"
fi
put libcore/base/needy.hpp '#pragma once' 'inline int g(int unused) { return 0; }'
if "$here/check_headers.sh" --root "$tree" >"$tree/output"; then
  report "check_headers.sh accepts a warning"
fi
"$here/check_headers.sh" --root "$tree" -Wno-unused-parameter >"$tree/output" || report "check_headers.sh ignores its flags"

clean_tree
put libcore/base/io/json.cpp 'auto a = Json::parse(text);'
put libcore/data/good.cpp 'auto a = JsonValue::parse(text, source);'
"$here/check_json.sh" "$tree" || report "check_json.sh refuses a clean tree"
put libcore/data/bad.cpp 'auto a = nlohmann::ordered_json::parse(text);'
if "$here/check_json.sh" "$tree" >"$tree/output"; then
  report "check_json.sh accepts the library's own parser"
fi

# expect_environment TEXT: check_environment.sh fails on the tree and says TEXT alone
expect_environment() {
  local output
  if output=$("$here/check_environment.sh" "$tree"); then
    report "check_environment.sh accepts what it should refuse: $1"
  elif [[ $output != "environment: $1" ]]; then
    report "check_environment.sh does not say '$1' but: $output"
  fi
}
# shellcheck disable=SC2016
environment_tree() {
  clean_tree
  put libcore/base/cli/environment.cpp '    {"COLUMNS", all, "width"},' '    {"NCCL_*", ranks,' '     "settings"},' '    {"DT_RUN", "jobs", "run"},'
  put libcore/base/a.cpp 'auto a = environment_variable("COLUMNS");' 'auto b = "NCCL_";'
  put jobs/a.sh 'run=${DT_RUN:-run}'
}
environment_tree
"$here/check_environment.sh" "$tree" || report "check_environment.sh refuses a clean tree"
put libcore/data/bad.cpp 'const char* a = ::getenv("FOO");'
expect_environment 'FOO is not in libcore/base/cli/environment.cpp'$'\n''environment: FOO has no row of its own in libcore/base/cli/environment.cpp'
environment_tree
put libcore/data/bad.cpp '::setenv("NCCL_ALGO", "Ring", 1);'
expect_environment 'NCCL_ALGO has no row of its own in libcore/base/cli/environment.cpp'
environment_tree
put libcore/data/bad.cpp 'for (const char* name : {"SLURM_PROCID"}) get(name);'
expect_environment 'SLURM_PROCID is not in libcore/base/cli/environment.cpp'
environment_tree
# shellcheck disable=SC2016
put jobs/a.sh 'echo $DT_RUN $DT_OUT'
expect_environment 'DT_OUT is not in libcore/base/cli/environment.cpp'
environment_tree
put jobs/a.sh 'true'
expect_environment 'nothing names DT_RUN, which is in libcore/base/cli/environment.cpp'

clean_tree
put libcore/data/good.cpp '// Returns what is left.' '// Of' 'int x;  // the folder' 'auto s = "// Of it";' '// Reads on,' '// of which one is left.'
"$here/check_comments.sh" "$tree" >"$tree/output" || report "check_comments.sh refuses a clean tree: $(<"$tree/output")"
for opening in '// Of a rank alone.' '/// Whether it is open.' 'int x;  // what is left' 'int f(); ///< Those of the stage.'; do
  put libcore/data/bad.cpp "$opening"
  if "$here/check_comments.sh" "$tree" >"$tree/output"; then
    report "check_comments.sh accepts $opening"
  fi
done

clean_tree
put libcore/comm/good.hpp '#pragma once' '// class Chain' 'struct RoundSequence { int chain; };' 'int lane(Chain c);'
"$here/check_names.sh" "$tree" >"$tree/output" || report "check_names.sh refuses a clean tree: $(<"$tree/output")"
for declaration in 'class Chain {};' 'enum class Kind { give };' 'struct S { int portions; };' 'void at_first();'; do
  put libcore/comm/bad.hpp '#pragma once' "$declaration"
  if "$here/check_names.sh" "$tree" >"$tree/output"; then
    report "check_names.sh accepts $declaration"
  fi
done
rm "$tree/libcore/comm/bad.hpp"
put libcore/comm/opening.hpp '#pragma once'
if "$here/check_names.sh" "$tree" >"$tree/output"; then report "check_names.sh accepts a file opening.hpp"; fi

rm -rf "${tree:?}"/*
# words N: N words without an end mark, "of" among them.
words() {
  local text
  printf -v text 'of %.0s' $(seq "$1")
  echo "${text% }"
}
documents=(README.md jobs/README.md tests/README.md tests/bench/README.md libcore/README.md libcore/FORMATS.md libcore/SECURITY.md
  .github/CONTRIBUTING.md cmd/dt-x/README.md cmd/dt-x/PAGE.md)
for document in "${documents[@]}"; do
  put "$document" "# $(words 41)" "$(words 10)" "$(words 8). $(words 40)" "" "- $(words 2)," "  $(words 2)" "" \
    '```console' "$(words 41)." '```' "| $(words 41). | $(words 41). |" "" "    $(words 41)." "" \
    "\`$(words 41)." "$(words 41).\` is [a link]($(words 41).), e.g. of dt; $(words 2) 0.5 of $(words 2)?" "" "$(words 20):"
done
"$here/check_sentences.sh" "$tree" >"$tree/output" || report "check_sentences.sh refuses a clean tree: $(<"$tree/output")"
[[ $("$here/check_sentences.sh" --print "$tree" | tail -n 1) == "cmd/dt-x/PAGE.md:"* ]] || report "check_sentences.sh prints no figures"

# expect_long LISTED LINE...: check_sentences.sh fails on README.md of these lines and lists LISTED
expect_long() {
  local output
  put README.md "${@:2}"
  if output=$("$here/check_sentences.sh" "$tree"); then
    report "check_sentences.sh accepts: ${*:2}"
  elif [[ $output != "sentences: README.md:$1"* ]]; then
    report "check_sentences.sh does not list '$1' but: $output"
  fi
}
expect_long ' 19.0 words' "$(words 19). $(words 19)."
expect_long ' 20.0 words' "- $(words 20)." "- $(words 2)"
expect_long '2: 41 words' '' "$(words 20)" "$(words 21)"
expect_long '2: 41 words' "Short." "$(words 41)." "Short. Short."
expect_long '1: 43 words' "**$(words 20):** $(words 23)." "" "Short. Short." "Short."
expect_long '4: 41 words' "- one" "" "  two" "- $(words 41)"
put README.md 'Short.'
put cmd/dt-x/PAGE.md "$(words 41)."
if "$here/check_sentences.sh" "$tree" >"$tree/output"; then report "check_sentences.sh accepts a long sentence of a page"; fi
rm "$tree"/cmd/dt-x/*.md
put cmd/dt-x/PAGE.md 'Short.'
if "$here/check_sentences.sh" "$tree" >"$tree/output"; then report "check_sentences.sh accepts a tool without a guide"; fi

clean_tree
put libcore/dependencies.cmake 'set(dt_dependencies' '  "a | A | pc:a | liba-dev | a-devel | a"' '  # Why.' '  "b | B | | libb-dev | b-devel | b")'
put README.md '# dt' ''
put jobs/site/spack/package.py '    depends_on("a+x")' '    depends_on("b", type="build")'
"$here/check_dependencies.sh" --print "$tree" >>"$tree/README.md"
"$here/check_dependencies.sh" "$tree" || report "check_dependencies.sh refuses a clean tree"
for edit in s/liba-dev/liba/ '/| B /d' 's/| A /| Ah /'; do
  sed -i.right "$edit" "$tree/README.md"
  if "$here/check_dependencies.sh" "$tree" 2>"$tree/output"; then report "check_dependencies.sh accepts $edit"; fi
  mv "$tree/README.md.right" "$tree/README.md"
done
put jobs/site/spack/package.py '    depends_on("a+x")'
if "$here/check_dependencies.sh" "$tree" 2>"$tree/output"; then report "check_dependencies.sh accepts a recipe without b"; fi

clean_tree
# shellcheck disable=SC2016
put libcore/README.md 'The table `base/a.hpp` and `.cpp`, `base/cli/`, `libcore/base/a`, `cmd/<tool>/*.cpp` of `checkpoints/N` and `run.json`.' \
  '```text' '`base/none.hpp`' '```'
# shellcheck disable=SC2016
put libcore/base/README.md '`a.hpp`, `cli/options.cpp`'
"$here/check_paths.sh" "$tree" >"$tree/output" || report "check_paths.sh refuses a clean tree: $(<"$tree/output")"
# shellcheck disable=SC2016
for text in '`base/none.hpp`' '`none.cpp`' '`base/hdf5/none`' '`comm/c.hpp` and `.cpp`' '`cmd/<tool>/*.hpp` and `cmd/*/none.cpp`' '`base/none/`'; do
  put .github/CONTRIBUTING.md "$text"
  if output=$("$here/check_paths.sh" "$tree"); then
    report "check_paths.sh accepts $text"
  elif [[ $output != 'paths: .github/CONTRIBUTING.md:1: '*' does not exist' ]]; then
    report "check_paths.sh does not name the place of $text: $output"
  fi
done

# expect_copy FILE EDIT: check_copies.sh fails and names FILE once sed has edited the tree's copy of it
expect_copy() {
  local output
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/jobs" "$tree/cmd"
  cp "$here"/../../jobs/*.sbatch "$tree/jobs"
  cp -r "$here"/../../cmd/man "$tree/cmd"
  cp "$here"/../../CMakeLists.txt "$tree"
  output=$("$here/check_copies.sh" "$tree") || report "check_copies.sh refuses a clean tree: $output"
  sed -i -E "$2" "$tree/$1"
  if output=$("$here/check_copies.sh" "$tree"); then
    report "check_copies.sh accepts $2 in $1"
  elif [[ $output != "copies: $1 "* ]]; then
    report "check_copies.sh does not name $1 after $2 but: $output"
  fi
}
expect_copy jobs/train.sbatch '/^# DT_PRELUDE/d'
expect_copy jobs/train.sbatch 's/&& exit 4/\&\& exit 3/'
expect_copy jobs/shard.sbatch '/slurm_script \]/d'
expect_copy jobs/merge.sbatch 's/^(read -ra wrapper.*\{wrapper_words).*(}" #)/\1\2/'
expect_copy jobs/prove.sbatch 's/^srun_words/words/'
expect_copy jobs/shard.sbatch '/^\[\[ -z \$\{SLURM_CPUS/s/PER_TASK$/PER_NODE/'
expect_copy jobs/prove.sbatch 's/^binding\+=.*/true/'
expect_copy jobs/train.sbatch 's/mpi=pmi2/mpi=pmix/'
expect_copy jobs/train.sbatch 's/sleep 2$/sleep 3/'
expect_copy cmd/man/dt-formats.5 's/^\.Dd .*/.Dd January 1, 1970/'
expect_copy cmd/man/dt-layouts.7 '/^\.Dd /d'
expect_copy CMakeLists.txt '/DT_RELEASE_DATE/d'

if [[ $failures -gt 0 ]]; then
  echo "selftest.sh: $failures failures" >&2
  exit 1
fi
echo "selftest.sh: ok"
