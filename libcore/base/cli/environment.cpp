#include "base/cli/environment.hpp"

#include <array>

namespace dt {

namespace {

constexpr std::string_view ranks = "dt-train dt-allreduce-bench",
                           all = "dt-train dt-allreduce-bench dt-shard-data dt-checkpoint dt-merge";

constexpr auto table = std::to_array<EnvironmentVariable>({
    {"COLUMNS", all, "The width of --help and --help-all. Default: the terminal's, or 100 in a pipe."},
    {"CUDA_DEVICE_*", ranks,
     "Settings of CUDA. Recorded with each start; a warning names those that differ between ranks."},
    {"CUDA_DEVICE_MAX_CONNECTIONS", ranks,
     "The number of hardware queues of a GPU. dt sets it to 32 unless it is set, so that a stream that waits "
     "for other ranks does not block other streams."},
    {"CUDA_VISIBLE_DEVICES", ranks, "The GPUs that ranks may use. CUDA and dt read it."},
    {"CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT", ranks,
     "The workspace of cuDNN's attention. Builds with cuDNN always set it, because the bits of results "
     "depend on it."},
    {"CUDNN_FRONTEND_CUDART_LIB_NAME", ranks,
     "The CUDA runtime that cuDNN's front end loads. Builds with cuDNN set it to the runtime that they were "
     "built with, unless it is set."},
    {"FI_*", ranks,
     "Settings of libfabric. Recorded with each start; a warning names those that differ between ranks."},
    {"GOMP_SPINCOUNT", "dt-train",
     "How long threads of GNU OpenMP spin while they wait. Unless GOMP_SPINCOUNT or OMP_WAIT_POLICY is set, "
     "dt-train sets it to 1000 and executes itself again (execve(2)), because the library reads it when it "
     "is loaded."},
    {"I_MPI_*", ranks,
     "Settings of Intel MPI. Recorded with each start; a warning names those that differ between ranks."},
    {"I_MPI_HYDRA_*", ranks, "Settings of Intel MPI's launcher. Not recorded, as they differ between ranks."},
    {"I_MPI_INFO_*", ranks,
     "Intel MPI's description of the machine. Not recorded, as it differs between ranks."},
    {"I_MPI_MPIRUN", ranks, "Set by Intel MPI's mpirun. Not recorded."},
    {"MPICH_*", ranks,
     "Settings of MPICH and Cray MPICH. Recorded with each start; a warning names those that differ between "
     "ranks."},
    {"MPICH_INTERFACE_HOSTNAME", ranks,
     "The address of the host. Not recorded, as it differs between ranks."},
    {"MPIR_CVAR_*", ranks,
     "Control variables of MPICH. Recorded with each start; a warning names those that differ between "
     "ranks."},
    {"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", ranks,
     "The address of the host. Not recorded, as it differs between ranks."},
    {"MPIR_CVAR_PMI_VERSION", ranks,
     "The version of PMI in which MPICH talks to its launcher. dt uses PMI_FD only with version 1, the "
     "default. "
     "Recorded with each start."},
    {"MPI_LOCALNRANKS", ranks, "The number of ranks on this host. Set by MPICH's launcher."},
    {"NCCL_*", ranks,
     "Settings of NCCL. Recorded with each start; a warning names those that differ between ranks."},
    {"NCCL_BUFFSIZE", "dt-train", "NCCL's buffer size. Memory estimates take it into account."},
    {"NCCL_IB_DISABLE", "dt-train",
     "1: NCCL does not use InfiniBand. Memory estimates take it into account."},
    {"NCCL_LL128_BUFFSIZE", "dt-train",
     "NCCL's buffer size for the LL128 protocol. Memory estimates take it into account."},
    {"NCCL_LL_BUFFSIZE", "dt-train",
     "NCCL's buffer size for the LL protocol. Memory estimates take it into account."},
    {"NCCL_MAX_CTAS", ranks, "The maximum number of CTAs per NCCL operation. It replaces dt's own choice."},
    {"NCCL_MAX_NCHANNELS", "dt-train",
     "The maximum number of NCCL's channels. Memory estimates take it into account."},
    {"NCCL_MULTI_RANK_GPU_ENABLE", ranks,
     "1: several ranks that share a GPU may use NCCL. Needs NCCL 2.30 or newer."},
    {"NCCL_NET", "dt-train", "NCCL's network. Memory estimates take the value Socket into account."},
    {"NCCL_NVLS_ENABLE", "dt-train",
     "0: NCCL does not use NVLink SHARP. Memory estimates take it into account."},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", ranks, "The number of ranks on this host. Set by Open MPI's mpirun."},
    {"OMPI_COMM_WORLD_RANK", ranks, "The rank of the process. Set by Open MPI's mpirun."},
    {"OMPI_COMM_WORLD_SIZE", ranks, "The number of ranks. Set by Open MPI's mpirun."},
    {"OMPI_MCA_*", ranks,
     "Parameters of Open MPI. Recorded with each start; a warning names those that differ between ranks."},
    {"OMP_*", ranks,
     "Settings of OpenMP. Recorded with each start; a warning names those that differ between ranks."},
    {"OMP_NUM_THREADS", ranks,
     "Ignored: --threads sets the number of threads. A message states it if the two differ."},
    {"OMP_WAIT_POLICY", "dt-train",
     "How OpenMP's threads wait. If it is set, dt-train does not set GOMP_SPINCOUNT."},
    {"PALS_LOCAL_SIZE", ranks, "The number of ranks on this host. Set by Cray's PALS."},
    {"PALS_RANKID", ranks, "The rank of the process. Set by Cray's PALS."},
    {"PMIX_RANK", ranks,
     "The rank of the process. Set by launchers that speak PMIx, such as srun --mpi=pmix."},
    {"PMI_FD", ranks,
     "The connection to the launcher. With MPICH 4.0 to 4.2 over UCX, ranks synchronize through it "
     "before MPI_Finalize."},
    {"PMI_LOCAL_SIZE", ranks, "The number of ranks on this host. Set by launchers that speak PMI."},
    {"PMI_RANK", ranks, "The rank of the process. Set by launchers that speak PMI."},
    {"PMI_SIZE", ranks, "The number of ranks. Set by launchers that speak PMI."},
    {"SLURM_GPU_BIND*", "dt-train dt-allreduce-bench jobs",
     "How Slurm binds tasks to GPUs. Recorded with each start; a warning names settings that differ between "
     "ranks. The scripts do not change it."},
    {"SLURM_JOB_ID", "dt-train dt-shard-data jobs",
     "The job's id. A requeued job takes over the run or dataset of its earlier start."},
    {"SLURM_PROCID", all, "The number of the task in its step. The tasks of a step divide work by it."},
    {"SLURM_RESTART_COUNT", "dt-train dt-shard-data jobs",
     "The number of times that Slurm has restarted the job."},
    {"SLURM_STEP_ID", "dt-shard-data", "The step's id, by which its tasks recognize each other's files."},
    {"SLURM_STEP_NUM_TASKS", all, "The number of tasks in the step."},
    {"SLURM_STEP_TASKS_PER_NODE", ranks, "The number of tasks on each node of the step."},
    {"TMPDIR", "dt-train",
     "The folder in which --compare-layouts stores the weights of the reference. Default: /tmp."},
    {"UCX_*", ranks,
     "Settings of UCX. Recorded with each start; a warning names those that differ between ranks."},

    {"DT_BENCH_ARGS", "jobs", "bench.sbatch: more options of dt-allreduce-bench, as words."},
    {"DT_BIN", "jobs", "The folder of the tools. Default: beside installed scripts, otherwise PATH."},
    {"DT_DATA", "jobs", "The dataset's folder. Default: shards."},
    {"DT_INPUT", "jobs", "Text files or folders, as words, from which shard.sbatch makes DT_DATA."},
    {"DT_LAYOUTS", "jobs", "prove.sbatch: the layouts to compare, as --compare-layouts takes them."},
    {"DT_MERGE_ARGS", "jobs", "More options of dt-merge, as words."},
    {"DT_MERGE_SBATCH", "jobs", "submit.sh: more options of sbatch for merge.sbatch, as words."},
    {"DT_MODEL", "jobs", "A preset or config.json. Default: gpt2-124m."},
    {"DT_OUT", "jobs", "The merged model. Default: model."},
    {"DT_PRELUDE", "jobs", "A file that each job sources first, for example to load modules."},
    {"DT_RUN", "jobs", "The run directory. Default: run."},
    {"DT_SBATCH", "jobs", "submit.sh: options of sbatch for all stages, as words."},
    {"DT_SHARD_ARGS", "jobs", "More options of dt-shard-data, as words."},
    {"DT_SHARD_SBATCH", "jobs", "submit.sh: more options of sbatch for shard.sbatch, as words."},
    {"DT_SRUN", "jobs", "More options of srun, as words. They override those of the scripts."},
    {"DT_TOKENIZER", "jobs", "The tokenizer for shard.sbatch. Default: that of dt-shard-data."},
    {"DT_TRAIN_ARGS", "jobs", "More options of dt-train, as words."},
    {"DT_TRAIN_SBATCH", "jobs", "submit.sh: more options of sbatch for train.sbatch, as words."},
    {"DT_WRAPPER", "jobs", "A command before each tool, as words, such as: apptainer exec dt.sif."},
    {"OMPI_ALLOW_RUN_AS_ROOT", "jobs", "demo.sh sets it, so that Open MPI starts for root."},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "jobs", "demo.sh sets it, so that Open MPI starts for root."},
    {"SLURM_ARRAY_JOB_ID", "jobs",
     "The id of an array job. With SLURM_ARRAY_TASK_ID, train.sbatch requeues a task of the array by it."},
    {"SLURM_ARRAY_TASK_ID", "jobs", "The index of a task in an array job."},
    {"SLURM_CPUS_ON_NODE", "jobs", "The number of the job's cores on a node, which its tasks share."},
    {"SLURM_CPUS_PER_TASK", "jobs", "The number of cores per task. Passed on to srun as SRUN_CPUS_PER_TASK."},
    {"SLURM_GPUS_ON_NODE", "jobs",
     "The number of the job's GPUs on a node. The scripts start one task for each."},
    {"SLURM_GPUS_PER_TASK", "jobs", "A binding of GPUs, which the scripts do not change."},
    {"SLURM_JOB_NUM_NODES", "jobs", "The number of nodes of the job."},
    {"SLURM_NTASKS", "jobs",
     "The number of tasks of the job, which prove.sbatch puts into its default layouts."},
    {"SLURM_NTASKS_PER_NODE", "jobs",
     "The number of tasks on a node. 1 on nodes with GPUs: the scripts start one task for each GPU."},
    {"SLURM_PMIX_FENCE", "jobs",
     "The scripts set it to tree unless it is set: with Slurm's default a rank may leave a fence too early."},
    {"SLURM_TRES_BIND", "jobs", "A binding of GPUs, which the scripts do not change."},
    {"SRUN_CPUS_PER_TASK", "jobs",
     "The scripts set it to SLURM_CPUS_PER_TASK, which srun does not read from Slurm 22.05 on."},
});

}  // namespace

std::span<const EnvironmentVariable> environment_variables() {
  return table;
}

}  // namespace dt
