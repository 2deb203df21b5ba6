#include "base/hdf5_file_support.hpp"

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

/// "file write failed: time = ..., errno = 28, ..." is "file write failed: No space left on device".
std::string without_clutter(const std::string& description) {
  constexpr std::string_view marker = "errno = ";
  const std::size_t at = description.find(marker);
  if (at == std::string::npos) return description;
  const int error_number = std::atoi(description.c_str() + at + marker.size());
  return description.substr(0, description.find_first_of(",:")) + ": " +
         std::generic_category().message(error_number);
}

}  // namespace

std::string innermost_hdf5_description() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* entry, void* out) -> herr_t {
        if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(out) = entry->desc;
        return 0;
      },
      &text);
  return text.empty() ? "no description" : without_clutter(text);
}

std::string hdf5_remedy(const std::string& description) {
  const auto says = [&](const char* part) { return description.find(part) != std::string::npos; };
  if (says("unable to lock file")) {
    return "another process has it open; or, where the file system has no locks, set "
           "HDF5_USE_FILE_LOCKING=FALSE";
  }
  if (says("already open for write"))
    return "its writer is still at work, or died before the file was complete";
  if (says("No space left")) return "free space there or choose another place";
  return {};
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

std::optional<DType> dtype_of_hdf5_type(hid_t type) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i64, DType::i32,
                            DType::u64, DType::u32, DType::u16, DType::u8}) {
    if (H5Tequal(type, hdf5_type(dtype).id()) > 0) return dtype;
  }
  return std::nullopt;
}

std::uint64_t element_count(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

}  // namespace dt
