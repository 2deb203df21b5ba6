#!/usr/bin/env bash
# Scripts that users run on shared machines neither follow nor believe what another user planted for them.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
[[ $(id -u) = 0 ]] || skip "needs root to act as another user"
jobs=$DT_TESTS/../jobs cluster=$DT_TESTS/slurm/cluster
other=60002
mkdir bin elsewhere shards open

# demo.sh: the folder's name is taken while it is made anew.
cat >bin/rm <<'END'
#!/bin/sh
/bin/rm "$@"
ln -s elsewhere demo
END
printf '#!/bin/sh\necho 7\n' >bin/sbatch
chmod 755 bin/*
expect_exit 1 env PATH="$PWD/bin:$PATH" timeout 60 bash "$jobs/demo.sh" demo
expect_equal "$(ls elsewhere)" "" "what the demo wrote through a link"

# submit.sh: where everybody may write, the logs that Slurm appends to may be links.
touch shards/dataset.json
chmod 1777 open
cd open
expect_exit 4 env PATH="$PWD/../bin:$PATH" DT_DATA=../shards bash "$jobs/submit.sh"
expect_match stderr "everybody may write to $PWD"
cd ..
chmod 755 open
expect_exit 0 env PATH="$PWD/bin:$PATH" DT_DATA=shards bash "$jobs/submit.sh"

# The cluster of the tests: a link, a folder of another user's, one that is open to all.
ln -s "$PWD/elsewhere" link
chown -h "$other" link
expect_exit 4 "$cluster" down link
expect_match stderr 'link belongs to another user'
mkdir planted open/log
touch planted/.dt-cluster open/.dt-cluster
chown "$other" planted
expect_exit 4 "$cluster" down planted
expect_match stderr 'planted belongs to another user'
chmod 777 open
expect_exit 4 "$cluster" down open
expect_match stderr 'everybody may write to open'
[[ -d open/log ]] || fail "a folder was removed"

# The check of GPUs removes logs of its last run, in a folder of its own alone.
mkdir logs
touch logs/001.log
ln -s logs gpu-check-logs
expect_exit 1 bash "$DT_TESTS/gpu/gpu-check.sh" none
expect_match stderr 'gpu-check-logs is not a folder that you own'
chown "$other" logs
expect_exit 1 env DT_GPU_CHECK_LOGS=logs bash "$DT_TESTS/gpu/gpu-check.sh" none
[[ -e logs/001.log ]] || fail "a log was removed"
