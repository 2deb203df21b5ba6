#!/usr/bin/env bash
# A job that loses a node, once a worker and once the one with its script, is requeued, goes on where its newest checkpoint stands on
# the nodes that are left, and ends with the bits of an undisturbed run.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 200
slow_links 100mbit
undisturbed whole

job=$(submit_training run 2)
wait_for_step run 25
mapfile -t nodes < <(nodes_of "$job")
cluster kill-node "${nodes[1]}"
give_up "${nodes[1]}"
wait_until 60 "the first restart" has_generations run 2
wait_for_step run 80
mapfile -t nodes < <(nodes_of "$job")
cluster kill-node "${nodes[0]}"
give_up "${nodes[0]}"
wait_until 60 "the second restart" has_generations run 3
wait_for_job "$job" 90
expect_equal "$(job_field "$job" Restarts)" 2 "restarts"
expect_same_model whole run

# A revived node serves again.
cluster revive "${nodes[0]}"
expect_exit 0 on_login srun -w "${nodes[0]}" hostname
expect_equal "$(cat stdout)" "${nodes[0]}"

# Ranks may notice before Slurm does, and end: the script asks the nodes, and requeues the job. The node that is left starts it again, often
# within the second in which it ended there.
sed -i 's/^SlurmdTimeout=.*/SlurmdTimeout=600/' "$DT_CLUSTER/slurm.conf"
on_login scontrol reconfigure
mkdir stub
cat >stub/dt-train <<'END'
#!/usr/bin/env bash
[[ -z ${SLURM_RESTART_COUNT:-} ]] || exit 0
touch "$SLURM_PROCID.started"
until [[ -e go ]]; do sleep 0.05; done
exit 4
END
chmod +x stub/dt-train
mapfile -t idle < <(on_login sinfo -h -N -t idle -o %N)
give_up "${idle[0]}"
job=$(DT_BIN=$PWD/stub submit_training stub_run 2)
wait_until 30 "the start of both ranks" test -e 0.started -a -e 1.started
mapfile -t nodes < <(nodes_of "$job")
cluster kill-slurmd "${nodes[1]}"
on_login scontrol update "nodename=${idle[0]}" state=resume
touch go
wait_until 60 "the requeue" grep -q '^requeue: exit code 4, a node does not respond' "dt-train-$job.log"
give_up "${nodes[1]}"
wait_for_job "$job" 60
