#include "base/hdf5/hdf5_library.hpp"

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace dt {

namespace {

Hdf5Handle float_type(const DTypeTraits& traits) {
  Hdf5Handle type(H5Tcopy(traits.bytes == 8 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE), H5Tclose);
  if (traits.bytes >= 4) return type;
  const std::size_t bits = std::size_t{8} * traits.bytes;
  H5Tset_fields(type.id(), bits - 1, traits.mantissa_bits, traits.exponent_bits, 0, traits.mantissa_bits);
  H5Tset_precision(type.id(), bits);
  H5Tset_size(type.id(), traits.bytes);
  H5Tset_ebias(type.id(), (std::size_t{1} << (traits.exponent_bits - 1)) - 1);
  return type;
}

Hdf5Handle integer_type(const DTypeTraits& traits) {
  const bool is_signed = traits.kind == NumberKind::signed_integer;
  Hdf5Handle type(H5Tcopy(is_signed ? H5T_STD_I64LE : H5T_STD_U64LE), H5Tclose);
  H5Tset_size(type.id(), traits.bytes);  // also its precision
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
    return "another process has the file open; if the file system does not support locks, set "
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
  const DTypeTraits& traits = traits_of(dtype);
  return traits.kind == NumberKind::floating ? float_type(traits) : integer_type(traits);
}

std::uint64_t element_count(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

}  // namespace dt
