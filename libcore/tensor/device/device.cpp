#include "tensor/device/device.hpp"

namespace dt {

std::string Device::to_string() const {
  switch (kind_) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda:" + std::to_string(index_);
  }
  return "unknown";
}

}  // namespace dt
