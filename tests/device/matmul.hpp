#pragma once
// Observation of the products that the test device is given.

#include <functional>

#include "kernels/cuda/matmul/matmul.hpp"

namespace dt::test_device {

/// Calls `with` for each product from now on, before it is enqueued; an empty function ends that.
void observe_products(std::function<void(const kernels::cuda::Matmul&)> with);

}  // namespace dt::test_device
