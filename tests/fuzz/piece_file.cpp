// A checkpoint's piece file, as an HDF5 file of any datasets.
#include "fuzz/fuzz.hpp"
#include "fuzz/hdf5_files.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const dt_fuzz::ScratchFolder folder;
  const std::string path = folder.put("rank-00000.h5", dt_fuzz::text_of(bytes, size));
  return dt_fuzz::accepted([&] { dt_fuzz::read_hdf5(path); });
}
