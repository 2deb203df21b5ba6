#pragma once
// What the test device is given to multiply.

#include <functional>

#include "kernels/cuda/products.hpp"

namespace dt::test_device {

/// `with` is told of each product from now on, before it is enqueued; an empty one ends that.
void observe_products(std::function<void(const kernels::cuda::Product&)> with);

}  // namespace dt::test_device
