#pragma once
// Where memory lies and kernels run.

#include <string>

namespace dt {

enum class DeviceKind : unsigned char { cpu };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
  std::string to_string() const;
};

}  // namespace dt
