#pragma once
// The place where memory lies and kernels run.

#include <array>
#include <string>

#include "base/text/enum_names.hpp"

namespace dt {

enum class DeviceKind : unsigned char { cpu, cuda };
constexpr auto enum_names(DeviceKind) {
  return std::to_array<EnumName<DeviceKind>>({{"cpu", DeviceKind::cpu}, {"cuda", DeviceKind::cuda}});
}

/// A device. There is no default: each buffer, tensor or context is created with a device, so that
/// code that forgets it does not compile. Take the device from the context, or from an object that
/// is used together with the new one. Name the host for memory that only the host touches.
class Device {
 public:
  /// Returns the host: the CPUs that run this program, and their memory.
  static constexpr Device host() { return Device(DeviceKind::cpu, 0); }
  /// Returns a GPU, counted among those that this program can use (Accelerator::gpus).
  static constexpr Device gpu(int index) { return Device(DeviceKind::cuda, index); }

  DeviceKind kind() const { return kind_; }
  int index() const { return index_; }
  bool operator==(const Device&) const = default;
  /// Returns "cpu", "cuda:0", ….
  std::string to_string() const;

 private:
  constexpr Device(DeviceKind kind, int index) : kind_(kind), index_(index) {}
  DeviceKind kind_;
  int index_;
};

inline std::string Device::to_string() const {
  std::string text(name_of(kind_));
  if (kind_ != DeviceKind::cpu) text += ":" + std::to_string(index_);
  return text;
}

}  // namespace dt
