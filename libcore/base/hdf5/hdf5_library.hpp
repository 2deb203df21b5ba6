#pragma once
// Calls of the HDF5 library for Hdf5Writer, and for tests that compare dt's reader with the
// library's.

// Later libraries offer the API of 1.10 under this macro.
#define H5_USE_110_API
#include <cstdint>
#include <hdf5.h>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numeric/dtype.hpp"

namespace dt {

/// Exclusive use of the HDF5 library, which has global state and no locks of its own. While an
/// object lives, only its thread calls the library, and the library prints nothing.
class Hdf5Lock {
 public:
  Hdf5Lock() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Hdf5Lock() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Hdf5Lock(const Hdf5Lock&) = delete;

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex instance;
    // The library's clean-up at exit would complain about damaged files. Every file is closed by
    // its owner.
    static const herr_t no_cleanup_at_exit = H5dont_atexit();
    static_cast<void>(no_cleanup_at_exit);
    return instance;
  }
  std::lock_guard<std::recursive_mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// The reason why the library's last call failed.
struct Hdf5Failure {
  std::string description;  // describes the innermost failed call
  int error_number = 0;     // errno of the failed system call, or 0
  std::string remedy;       // "" if none is known
};
Hdf5Failure last_hdf5_failure();

/// An HDF5 identifier that its owner's destructor closes.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle() { reset(); }
  hid_t id() const { return id_; }
  bool valid() const { return id_ >= 0; }
  bool reset() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

Hdf5Handle hdf5_type(DType dtype);

std::uint64_t element_count(const std::vector<std::uint64_t>& shape);

}  // namespace dt
