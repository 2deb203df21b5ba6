#include "tensor/device/accelerator.hpp"

#include "base/error.hpp"

namespace dt {

namespace {

Accelerator* the_accelerator = nullptr;

}  // namespace

Accelerator& accelerator() {
  if (the_accelerator == nullptr) throw Error(ErrorKind::environment, "this program does not support GPUs");
  return *the_accelerator;
}

bool has_accelerator() {
  return the_accelerator != nullptr;
}

void set_accelerator(Accelerator* accelerator) {
  the_accelerator = accelerator;
}

}  // namespace dt
