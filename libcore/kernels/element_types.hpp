#pragma once
// The types of elements for which kernels are compiled: one list for each use of a type. Checks, kernels on
// the host and kernels on GPUs read them.

#include "base/numeric/dtype.hpp"

namespace dt::kernels {

/// Elements of the fast kernels on the host, which compute in fp32.
using CpuTypes = Joined<TypeList<float>, NarrowFloatTypes>;
/// Elements of kernels on GPUs.
using GpuTypes = FloatTypes;

/// The narrow floats in which gradients of parameters may be summed. fp16 is none: its range is too small.
using NarrowGradientTypes = TypeList<BFloat16>;
using CpuGradientTypes = Joined<TypeList<float>, NarrowGradientTypes>;
using GpuGradientTypes = Joined<TypeList<double, float>, NarrowGradientTypes>;

}  // namespace dt::kernels
