#!/usr/bin/env bash
# Commands that write end when they are told to, with 128 + the signal, and leave nothing half-done.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make() { make_checkpoint "$@" || fail "make_checkpoint $*"; }
hidden() { find . -name '.*.tmp-*' -o -name '.*.removed'; }

# end_slow SIGNAL COMMAND...: sends it once the command has a hidden file or folder.
end_slow() {
  local signal=$1 tries code=0
  shift
  LD_PRELOAD=$DT_BUILD/lib/libslow_writes.so dt-checkpoint "$@" >stdout 2>stderr &
  for ((tries = 0; tries < 500; ++tries)); do
    if [[ -n $(hidden) ]]; then break; fi
    sleep 0.01
  done
  [[ -n $(hidden) ]] || fail "$1 wrote nothing hidden"
  kill "-${signal%:*}" $!
  wait $! || code=$?
  expect_equal "$code" "${signal#*:}" "exit of $1"
  expect_match stderr "stopped by SIG${signal%:*}; "
  expect_equal "$(hidden)" "" "what $1 leaves"
}

ckpt=$(make run 10 writers=2)
dt-merge --quiet "$ckpt" --out hf || fail "dt-merge"
cp -r "$ckpt" backup
end_slow INT:130 import hf imported
end_slow USR1:138 reshard "$ckpt" wide --layout dp=2
expect_absent imported wide
truncate -s -1 "$ckpt/rank-00001.h5"
cp "$ckpt/rank-00001.h5" damaged.h5
end_slow TERM:143 repair "$ckpt" --from backup
cmp damaged.h5 "$ckpt/rank-00001.h5" || fail "repair changed a file that it had not mended"
expect_exit 0 dt-checkpoint repair "$ckpt" --from backup

# Of what prune was to remove, a part is gone whole, the rest is whole.
for step in $(seq 20 10 90); do make run "$step" writers=2 >/dev/null; done
end_slow TERM:143 prune run --keep-last 2
removed=$(grep -c '^removed' stdout)
left=$(find run/checkpoints -mindepth 1 -maxdepth 1 | wc -l)
expect_equal $((removed + left)) 9 "checkpoints"
((removed >= 1 && left > 2)) || fail "$removed were removed, $left are left"
expect_exit 0 dt-checkpoint verify --quiet run/checkpoints/*
