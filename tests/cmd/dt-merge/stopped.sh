#!/usr/bin/env bash
# A merge that is told to stop leaves nothing; one that is killed leaves nothing under the final name, and the next one succeeds.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
ckpt=$(make_checkpoint run 10 writers=3) || fail "make_checkpoint"
hidden() { find . -maxdepth 1 -name '.*.tmp-*'; }

# end_merge OUT SIGNAL: sends it once the merge has begun to write; its exit code in $code.
end_merge() {
  local tries
  LD_PRELOAD=$DT_BUILD/lib/libslow_writes.so dt-merge "$ckpt" --out "$1" 2>stderr &
  for ((tries = 0; tries < 500; ++tries)); do
    if [[ -n $(hidden) ]]; then break; fi
    sleep 0.01
  done
  [[ -n $(hidden) ]] || fail "no temporary file"
  kill "-$2" $!
  code=0
  wait $! || code=$?
}

for out in model model.h5; do
  for signal in INT:130 TERM:143; do
    end_merge "$out" "${signal%:*}"
    expect_equal "$code" "${signal#*:}" "exit after SIG${signal%:*}"
    expect_match stderr "stopped by SIG${signal%:*}; $out was not written"
    expect_absent "$out"
    expect_equal "$(hidden)" "" "temporary files after SIG${signal%:*}"
  done
  end_merge "$out" KILL
  expect_absent "$out"
  expect_exit 0 dt-merge --quiet "$ckpt" --out "$out"
  rm -rf .*.tmp-*
done

# What was there before stays as it was.
expect_exit 0 dt-merge --quiet "$ckpt" --out other.h5
LD_PRELOAD=$DT_BUILD/lib/libslow_writes.so dt-merge "$ckpt" --out other.h5 --overwrite --dtype bf16 2>stderr &
until [[ -n $(hidden) ]]; do sleep 0.01; done
kill -TERM $!
wait $! && fail "not stopped"
cmp model.h5 other.h5 || fail "a stopped merge changed what was there"
