#include "base/hdf5/hdf5_library.hpp"

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace dt {

namespace {

Hdf5Handle float_type(std::size_t bytes, std::size_t exponent_bits, std::size_t mantissa_bits) {
  Hdf5Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type.id(), bytes * 8 - 1, mantissa_bits, exponent_bits, 0, mantissa_bits);
  H5Tset_precision(type.id(), bytes * 8);
  H5Tset_size(type.id(), bytes);
  H5Tset_ebias(type.id(), (std::size_t{1} << (exponent_bits - 1)) - 1);
  return type;
}

/// Returns the errno in a description, its only place: "file write failed: time = ..., errno = 28,
/// ...".
int error_number_in(std::string_view description) {
  constexpr std::string_view marker = "errno = ";
  const std::size_t at = description.find(marker);
  return at == description.npos ? 0 : std::atoi(description.data() + at + marker.size());
}

std::string remedy_of(std::string_view description) {
  const auto says = [&](std::string_view part) { return description.find(part) != description.npos; };
  if (says("unable to lock file")) {
    return "another process has it open; or, where the file system has no locks, set "
           "HDF5_USE_FILE_LOCKING=FALSE";
  }
  return {};
}

}  // namespace

Hdf5Failure last_hdf5_failure() {
  const int last_error = errno;
  Hdf5Failure failure;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* entry, void* out) -> herr_t {
        if (entry->desc == nullptr) return 0;
        auto& found = *static_cast<Hdf5Failure*>(out);
        if (depth == 0) found.description = entry->desc;
        if (found.error_number == 0) found.error_number = error_number_in(entry->desc);
        return 0;
      },
      &failure);
  if (failure.description.empty()) failure.description = "no description";
  failure.remedy = remedy_of(failure.description);
  // The library reports no errno for a failed stat(2).
  if (failure.error_number == 0 && failure.description.find("stat info") != std::string::npos)
    failure.error_number = last_error;
  if (failure.error_number != 0) {
    failure.description = failure.description.substr(0, failure.description.find_first_of(",:")) + ": " +
                          std::generic_category().message(failure.error_number);
  }
  return failure;
}

Hdf5Handle hdf5_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose};
    case DType::f32:
      return {H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
    case DType::bf16:
      return float_type(2, 8, 7);
    case DType::f16:
      return float_type(2, 5, 10);
    case DType::i64:
      return {H5Tcopy(H5T_STD_I64LE), H5Tclose};
    case DType::i32:
      return {H5Tcopy(H5T_STD_I32LE), H5Tclose};
    case DType::u64:
      return {H5Tcopy(H5T_STD_U64LE), H5Tclose};
    case DType::u32:
      return {H5Tcopy(H5T_STD_U32LE), H5Tclose};
    case DType::u16:
      return {H5Tcopy(H5T_STD_U16LE), H5Tclose};
    case DType::u8:
      return {H5Tcopy(H5T_STD_U8LE), H5Tclose};
  }
  return {};
}

std::uint64_t element_count(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

}  // namespace dt
