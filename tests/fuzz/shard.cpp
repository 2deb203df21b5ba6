// A token shard.
#include "fuzz/fuzz.hpp"
#include "fuzz/hdf5_files.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const dt_fuzz::ScratchFolder folder;
  const std::string path = folder.put("shard.h5", dt_fuzz::text_of(bytes, size));
  return dt_fuzz::accepted([&] { dt_fuzz::read_shard(path); });
}
