#include "comm/nccl/functions.cuh"

#include <dlfcn.h>

#include "base/error.hpp"

namespace dt::comm::nccl {

namespace {

const NcclFunctions* given = nullptr;

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw Error(ErrorKind::environment, fmt::format("NCCL: {}", ::dlerror()));
}

/// Loads the library, which stays loaded: a library that a driver knows must not be unloaded.
void* open() {
  std::string why_not;
  for (const char* name : {"libnccl.so.2", "libnccl.so", "/usr/local/cuda/lib64/libnccl.so.2"}) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    why_not += fmt::format("; {}", ::dlerror());
  }
  throw Error(ErrorKind::environment, "cannot load NCCL" + why_not,
              "add its folder to LD_LIBRARY_PATH, or use --comm mpi, which goes through host memory");
}

NcclFunctions load() {
  void* const library = open();
  NcclFunctions functions{};
  find(library, "ncclGetVersion", functions.ncclGetVersion);
  int version = 0;
  functions.ncclGetVersion(&version);
  require_version(version);
#define DT_FIND(function) find(library, #function, functions.function);
  DT_NCCL_FUNCTIONS(DT_FIND)
#undef DT_FIND
  return functions;
}

}  // namespace

const NcclFunctions& functions() {
  static const NcclFunctions loaded = given != nullptr ? *given : load();
  return loaded;
}

/// Accepts a newer library of the same major version, as it is compatible with an older header.
void require_version(int version) {
  if (version >= least_version && version / 10000 == NCCL_VERSION_CODE / 10000) return;
  throw Error(ErrorKind::environment,
              fmt::format("NCCL {} is not supported: dt needs {} or newer of the same major version",
                          version_text(version), version_text(least_version)),
              "add the folder of another version to LD_LIBRARY_PATH, or use --comm mpi");
}

std::string version_text(int version) {
  constexpr int first_of_the_new_form = 20900;  // 2.8.4 is 2804
  if (version < first_of_the_new_form)
    return fmt::format("{}.{}.{}", version / 1000, version / 100 % 10, version % 100);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

void set_functions(const NcclFunctions* functions) {
  given = functions;
}

}  // namespace dt::comm::nccl
