#!/usr/bin/env bash
# What tasks see of their nodes' GPUs, as real Slurm shows them to the jobs: all, unless the site binds them.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
mkdir stub
cat >stub/dt-train <<'END'
#!/usr/bin/env bash
echo "$(hostname) $CUDA_VISIBLE_DEVICES" >>"$DT_RUN.seen.$SLURM_PROCID"
END
ln -s dt-train stub/dt-allreduce-bench
chmod +x stub/dt-train
export DT_BIN=$PWD/stub DT_DATA=shards

# expect_seen RUN "WHAT EACH OF TWO TASKS ON A NODE SEES" JOB [sbatch's options]
expect_seen() {
  local id
  id=$(DT_RUN=$1 on_login sbatch --parsable -N 2 --gpus-per-node=2 -c 2 "${@:4}" "$jobs/$3.sbatch" --gpus)
  wait_for_job "$id" 60
  expect_equal "$(sort "$1".seen.* | tr '\n' ',')" "$2"
  log=dt-$3-$id.log
}
all="n1 0,1,n1 0,1,n2 0,1,n2 0,1,"
for job in train prove bench; do
  expect_seen "$job" "$all" "$job"
  expect_equal "$(grep -c warning "$log")" 0 "warnings of $job"
done
one="n1 0,n1 1,n2 0,n2 1,"
expect_seen bound "$one" train --gpu-bind=single:1
expect_match "$log" "^warning: SLURM_GPU_BIND=single:1: if a task sees only one GPU"
