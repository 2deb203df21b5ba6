#!/usr/bin/env bash
# --help fits a screen, --help-all has everything, and both keep within narrow terminals. --version --verbose has what a bug report needs.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for tool in dt-allreduce-bench dt-checkpoint dt-merge dt-shard-data dt-train; do
  COLUMNS=80 expect_exit 0 "$tool" --help
  (($(wc -l <stdout) <= 40)) || fail "$tool --help has $(wc -l <stdout) lines"
  expect_match stdout "^usage: $tool "
  expect_match stdout "$tool --help-all shows all [0-9]+ options"
  for columns in 40 60 80; do
    COLUMNS=$columns expect_exit 0 "$tool" --help
    # No word is broken, so options and metavars longer than a line's half may stand out.
    (($(LC_ALL=C.UTF-8 wc -L <stdout) <= columns + 8)) || { cat stdout >&2 && fail "$tool --help is wider than $columns columns"; }
  done
  COLUMNS=80 expect_exit 0 "$tool" --help-all
  (($(sed '/^Examples:/,$d' stdout | LC_ALL=C.UTF-8 wc -L) <= 80)) || { cat stdout >&2 && fail "$tool --help-all is wider than 80 columns"; }
  for option in --config --json --verbose --version; do expect_match stdout "^ +$option"; done

  # Neither MPI nor CUDA starts.
  expect_exit 0 "$tool" --version
  expect_equal "$(wc -l <stdout)" 1 "lines of $tool --version"
  expect_exit 0 env CUDA_VISIBLE_DEVICES='' OMPI_MCA_btl=none "$tool" --version --verbose
  expect_match stdout "^$tool [0-9]+\.[0-9]+\.[0-9]+$"
  for line in 'source revision: +([0-9a-f]{7,}|unknown)' 'build: +[A-Za-z]+, (gcc|clang) [0-9.]+' 'MPI: +[A-Z][A-Za-z ]+[0-9.]+' \
    'HDF5: +[0-9.]+' 'CUDA: +(off|[0-9.]+)' 'NCCL: +(off|[0-9.]+)' 'cuDNN: +(off|[0-9.]+)' 'processor: +.+, [a-z0-9_-]+' 'system: +Linux [^,]+, .+' 'C library: +.+'; do
    expect_match stdout "^  $line$"
  done
done
