#pragma once
// Loads NCCL's functions when they are first asked for. So the program starts, and trains on CPUs,
// where there is no NCCL.

#include <nccl.h>
#include <string>

namespace dt::comm::nccl {

#define DT_NCCL_FUNCTIONS(FUNCTION) \
  FUNCTION(ncclAllGather)           \
  FUNCTION(ncclAllReduce)           \
  FUNCTION(ncclBroadcast)           \
  FUNCTION(ncclCommAbort)           \
  FUNCTION(ncclCommCount)           \
  FUNCTION(ncclCommDeregister)      \
  FUNCTION(ncclCommDestroy)         \
  FUNCTION(ncclCommFinalize)        \
  FUNCTION(ncclCommGetAsyncError)   \
  FUNCTION(ncclCommInitRankConfig)  \
  FUNCTION(ncclCommRegister)        \
  FUNCTION(ncclCommSplit)           \
  FUNCTION(ncclCommUserRank)        \
  FUNCTION(ncclGetErrorString)      \
  FUNCTION(ncclGetLastError)        \
  FUNCTION(ncclGetUniqueId)         \
  FUNCTION(ncclGetVersion)          \
  FUNCTION(ncclGroupEnd)            \
  FUNCTION(ncclGroupStart)          \
  FUNCTION(ncclRecv)                \
  FUNCTION(ncclReduce)              \
  FUNCTION(ncclReduceScatter)       \
  FUNCTION(ncclSend)

/// NCCL's functions, by its names for them.
struct NcclFunctions {
#define DT_MEMBER(name) decltype(&::name) name;
  DT_NCCL_FUNCTIONS(DT_MEMBER)
#undef DT_MEMBER
};

/// The oldest version that has all that dt asks for; ncclCommRegister came last.
/// Source: NCCL's releases, nccl.h.
inline constexpr int least_version = NCCL_VERSION(2, 19, 0);
static_assert(NCCL_VERSION_CODE >= least_version, "dt is built with the header of NCCL 2.19 or newer");

/// Returns NCCL's functions, and loads them at the first call.
/// Errors: environment, NCCL is missing, older than least_version, or of another major version.
const NcclFunctions& functions();
/// Throws if functions() would not take a library of this version.
/// Errors: environment.
void require_version(int version);
/// Returns "2.28.9".
std::string version_text(int version);
/// Replaces NCCL's functions in tests. Call before functions().
void set_functions(const NcclFunctions* functions);

}  // namespace dt::comm::nccl
