#include "comm/topology/environment.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace dt::comm;

TEST_CASE("of the environment what says how ranks talk is kept, and nothing else") {
  for (const char* name : {"NCCL_IB_HCA", "UCX_TLS", "FI_PROVIDER", "OMPI_MCA_btl", "OMP_DYNAMIC",
                           "CUDA_DEVICE_MAX_CONNECTIONS", "SLURM_GPU_BIND", "SLURM_GPU_BIND_TYPE",
                           "I_MPI_FABRICS", "MPICH_OFI_NIC_POLICY", "MPIR_CVAR_CH4_NUM_VCIS"}) {
    setenv(name, "a=b", 1);
    INFO(name);
    CHECK(environment_settings()[name] == "a=b");
    unsetenv(name);
    CHECK_FALSE(environment_settings().contains(name));
  }
  for (const char* name :
       {"API_TOKEN", "MY_NCCL_KEY", "SLURM_JWT", "CUDA_HOME", "OMPI_MCA_orte_precondition_transports",
        "OMPI_MCA_ess_base_vpid", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "I_MPI_HYDRA_BOOTSTRAP"}) {
    setenv(name, "secret", 1);
    INFO(name);
    CHECK_FALSE(environment_settings().contains(name));
    unsetenv(name);
  }
}

TEST_CASE("settings that differ are shown as a rank has them, but for a rank's own") {
  const EnvironmentSettings first{{"NCCL_DEBUG", "INFO"}, {"UCX_TLS", "tcp"}, {"CUDA_VISIBLE_DEVICES", "0"}};
  const EnvironmentSettings own{{"NCCL_DEBUG", "WARN"}, {"FI_PROVIDER", ""}, {"CUDA_VISIBLE_DEVICES", "1"}};
  CHECK(differing_settings(first, first).empty());
  CHECK(differing_settings(first, own) ==
        EnvironmentSettings{{"NCCL_DEBUG", "'WARN'"}, {"UCX_TLS", "unset"}, {"FI_PROVIDER", "''"}});
}
