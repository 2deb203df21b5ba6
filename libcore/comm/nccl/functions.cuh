#pragma once
// NCCL's functions, loaded when they are first asked for: the program starts, and trains on CPUs, where there
// is none.

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
  FUNCTION(ncclReduceScatter)       \
  FUNCTION(ncclSend)

/// By its names for them.
struct Functions {
#define DT_MEMBER(name) decltype(&::name) name;
  DT_NCCL_FUNCTIONS(DT_MEMBER)
#undef DT_MEMBER
};

/// Has all that dt asks for: ncclCommRegister came last. Source: NCCL's releases, nccl.h.
inline constexpr int least_version = NCCL_VERSION(2, 19, 0);
static_assert(NCCL_VERSION_CODE >= least_version, "dt is built with the header of NCCL 2.19 or newer");

/// Errors: environment, where NCCL is missing, older than least_version, or of another major version.
const Functions& functions();
/// Errors: environment, of a library of this version, as of functions().
void require_version(int version);
/// "2.28.9"
std::string version_text(int version);
/// Before functions() is called: what plays NCCL in tests.
void set_functions(const Functions* functions);

}  // namespace dt::comm::nccl
