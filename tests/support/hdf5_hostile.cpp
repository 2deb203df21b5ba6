#include "support/hdf5_hostile.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/hdf5/hdf5_library.hpp"
#include "base/test_folder.hpp"

namespace dt_test {

namespace {

using dt::Hdf5Handle;

constexpr std::uint64_t num_stored = 20'000;  // elements of /overflow

Hdf5Handle creation() {
  Hdf5Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_alloc_time(list.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(list.id(), H5D_FILL_TIME_NEVER);
  return list;
}

Hdf5Handle make_dataset(hid_t place, const std::string& name, hid_t type, hsize_t elements,
                        const Hdf5Handle& list = creation()) {
  const Hdf5Handle space(H5Screate_simple(1, &elements, nullptr), H5Sclose);
  Hdf5Handle made(H5Dcreate2(place, name.c_str(), type, space.id(), H5P_DEFAULT, list.id(), H5P_DEFAULT),
                  H5Dclose);
  DT_CHECK(made.valid(), "the library makes {}", name);
  return made;
}

Hdf5Handle make_group(hid_t place, const char* name) {
  return {H5Gcreate2(place, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
}

void write_by_library(const std::filesystem::path& path, int depth) {
  const dt::Hdf5Lock calls;
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const std::vector<std::uint32_t> values = {0, 1, 2, 3};
  const Hdf5Handle good = make_dataset(file.id(), "good", H5T_STD_U32LE, values.size());
  H5Dwrite(good.id(), H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  make_dataset(file.id(), "overflow", H5T_STD_U32LE, num_stored);

  const Hdf5Handle external = creation();
  H5Pset_external(external.id(), "/etc/passwd", 0, 16);
  make_dataset(file.id(), "external", H5T_IEEE_F32LE, 4, external);
  const Hdf5Handle mapped(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const hsize_t elements = 4;
  const Hdf5Handle space(H5Screate_simple(1, &elements, nullptr), H5Sclose);
  H5Pset_virtual(mapped.id(), space.id(), "/etc/passwd", "/d", space.id());
  make_dataset(file.id(), "virtual", H5T_IEEE_F32LE, elements, mapped);

  const Hdf5Handle text(H5Tcopy(H5T_C_S1), H5Tclose), scalar(H5Screate(H5S_SCALAR), H5Sclose);
  H5Tset_size(text.id(), H5T_VARIABLE);
  const Hdf5Handle attribute(
      H5Acreate2(file.id(), "variable", text.id(), scalar.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* value = "text";
  H5Awrite(attribute.id(), text.id(), &value);

  const Hdf5Handle loop = make_group(file.id(), "loop");
  H5Lcreate_hard(file.id(), "loop", loop.id(), "loop", H5P_DEFAULT, H5P_DEFAULT);
  Hdf5Handle group = make_group(file.id(), "deep");
  for (int i = 0; i < depth; ++i) group = make_group(group.id(), "g");
  make_dataset(group.id(), "bottom", H5T_STD_U8LE, 1);
}

}  // namespace

void write_hostile_hdf5(const std::filesystem::path& path, int depth) {
  write_by_library(path, depth);
  // The library refuses to write such a shape, so the file's bytes are changed. The oldest format
  // has no checksum that would show it.
  std::string file = content(path);
  const std::uint64_t shape = num_stored, hostile = (std::uint64_t{1} << 62) + num_stored;
  const std::string from(reinterpret_cast<const char*>(&shape), sizeof shape);
  std::size_t at = file.find(from);
  DT_CHECK(at != std::string::npos, "{} has the shape of /overflow", path.string());
  for (; at != std::string::npos; at = file.find(from, at + 1))
    std::memcpy(file.data() + at, &hostile, sizeof hostile);
  put(path, file);
}

}  // namespace dt_test
