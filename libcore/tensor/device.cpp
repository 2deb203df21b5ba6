#include "tensor/device.hpp"

namespace dt {

std::string Device::to_string() const {
  switch (kind_) {
    case DeviceKind::cpu:
      return "cpu";
  }
  return "unknown";
}

}  // namespace dt
