#include "comm/device_collectives/device_transport.hpp"

namespace dt::comm {

namespace {
DeviceTransportLibrary* the_library = nullptr;
}  // namespace

DeviceTransportLibrary* device_transport_library() {
  return the_library;
}

void set_device_transport_library(DeviceTransportLibrary* library) {
  the_library = library;
}

}  // namespace dt::comm
