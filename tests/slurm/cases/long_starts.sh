#!/usr/bin/env bash
# No start of MPI on four nodes is lost, however busy they and their links are; with the fence that Slurm itself would choose, some are.
# DT_TEST_STARTS: how many (1,000); of the others, by turns with the first, a third as many.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
slow_links 100mbit
starts=${DT_TEST_STARTS:-1000}

cat >starts.sbatch <<'END'
#!/usr/bin/env bash
#SBATCH --nodes=4 --ntasks-per-node=1 --output=starts.log
end() { jobs -p | xargs kill; }
trap end EXIT
for ((core = 0; core < $(nproc); ++core)); do
  while :; do :; done &
done
try() {
  local code=0
  timeout 120 env "${@:2}" srun --mpi=pmix --kill-on-bad-exit=0 --wait=8 start_mpi || code=$?
  echo "$1: exit $code"
}
for ((start = 0; start < $1; ++start)); do
  try tree SLURM_PMIX_FENCE=tree
  ((start % 3)) || try mixed -u SLURM_PMIX_FENCE
done
touch ended
END
job=$(on_login sbatch --parsable starts.sbatch "$starts")
wait_until 7000 "$starts starts" test -e ended
wait_for_job "$job" 30
count() { grep -cE "^$1: exit $2\$" starts.log || true; }
echo "tree: $(count tree 0) of $starts starts, mixed: $(count mixed 0) of $(count mixed '[0-9]+')"
(($(count mixed 0) < $(count mixed '[0-9]+'))) || echo "none crashed with mixed either: this time the load did not bring it about"
expect_equal "$(count tree 0)" "$starts" "starts that went well with tree"
