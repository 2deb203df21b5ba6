#pragma once
// What the kernel tests share: tensors with repeatable contents, and the checks that every fast kernel must
// pass.

#include <functional>
#include <vector>

#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/host_copy.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels::test {

/// Where a case runs: the dtype of its tensors and how far they lie from an aligned address.
class Fixture {
 public:
  Fixture(const Context& context, DType dtype, std::int64_t misaligned_elements = 0)
      : context(context), dtype_(dtype), rounding_(dtype), misaligned_elements_(misaligned_elements) {}

  const Context& context;

  /// Random values are rounded to this dtype too: what its kernels are given is given to fp32's.
  void round_to(DType dtype) { rounding_ = dtype; }
  /// Of what kernels keep beside its tensors.
  DType wide_dtype() const { return dtype_ == DType::f64 ? DType::f64 : DType::f32; }
  /// Values in ±scale that depend on `seed` and rounding only and are exact in fp32.
  Tensor random(Shape shape, std::uint64_t seed, double scale = 1);
  /// The given values in row-major order.
  Tensor values(Shape shape, const std::vector<double>& values);
  Tensor ids(const std::vector<std::int32_t>& values);
  /// int32 in [lowest, end).
  Tensor random_ids(std::int64_t count, std::int32_t lowest, std::int32_t end, std::uint64_t seed);
  /// Where the context is, with the values that a tensor of the host has.
  Tensor placed(const Tensor& tensor);
  /// Filled with NaN: whatever a kernel fails to write shows.
  Tensor output(Shape shape);
  Tensor output_f64(Shape shape);
  /// Of the dtype that kernels keep beside such tensors: f64 for f64, else f32.
  Tensor wide_output(Shape shape);
  Tensor wide_random(Shape shape, std::uint64_t seed, double scale = 1);
  /// Random values in another dtype than the fixture's.
  Tensor random_in(DType dtype, Shape shape, std::uint64_t seed, double scale = 1);
  /// What parameters' gradients may be: wide, or bf16 beside bf16.
  Tensor random_gradient(Shape shape, std::uint64_t seed, bool is_wide);
  /// The same matrix, but on a GPU of rows that are padded with NaN; and it without padding, in which still
  /// nothing else lies.
  Tensor padded(const Tensor& matrix);
  Tensor unpadded(const Tensor& matrix);
  /// With what all kernels so far wrote: `tensor` itself, or a copy of what lies on a GPU.
  Tensor on_host(const Tensor& tensor);

 private:
  Tensor allocate(DType dtype, Shape shape);
  Tensor unwritten(DType dtype, Shape shape);
  DType dtype_, rounding_;
  std::int64_t misaligned_elements_;
  std::vector<Buffer> buffers_;
  std::vector<OnHost> copies_;
};

std::vector<double> to_doubles(const Tensor& tensor);
/// ‖a − b‖ / ‖b‖; infinite where a value is not finite.
double relative_error(const Tensor& a, const Tensor& b);
bool same_bits(const Tensor& a, const Tensor& b);

/// Calls body once with each instruction set that dt has code for and this machine has.
void for_each_instruction_set(const std::function<void()>& body);

/// Builds its tensors with the fixture, runs a kernel and returns what it wrote.
using Case = std::function<std::vector<Tensor>(Fixture&)>;

enum class Threads { any, same };  // whether the bits may depend on their number

/// From now on the checks of what runs on hosts pass at once: they are another program's.
void check_devices_only();

/// With every instruction set of this machine the fp32 kernel agrees with its reference; gives the same bits
/// wherever its buffers lie and, unless `threads` says otherwise, with 1, 2 and 3 threads; and takes no more
/// scratch when it is called again.
void check_fast_kernel(const Case& run, Threads threads = Threads::any, double tolerance = 1e-5);

/// The same for the kernel in bf16 and f16, multiplying in fp32 and in bf16, against the reference in fp32 of
/// the rounded inputs.
void check_fast_half_kernel(const Case& run, Threads threads = Threads::any, double tolerance = 2e-2);

enum class Kernels { any, own };  // own: of dt's, also where a library has one
struct GpuTolerances {
  double f64 = 1e-12, f32 = 1e-6, f16 = 1.0 / (1 << 11), bf16 = 1.0 / (1 << 8);
};
/// The kernel for GPUs agrees with its reference, in fp64, fp32 and, rounded once by default, the 16-bit
/// floats; touches nothing beyond its tensors; and gives the same bits again when threads, blocks and streams
/// take turns in other orders.
void check_gpu_kernel(const Case& run, const GpuTolerances& tolerances = {}, Kernels kernels = Kernels::any);

/// The kernel for GPUs gives the same bits wherever its buffers lie: also where they are not aligned to what
/// is loaded at once.
void check_gpu_places(const Case& run);

/// Checks that the kernel for GPUs agrees with the CPU's, wherever its buffers lie: for tensors of `dtype`
/// beside others.
void check_gpu_as_cpu(DType dtype, const Case& run, double tolerance = 1e-30);

/// body with a fixture of the test device, whose order of work is the seed's.
void on_test_device(DType dtype, std::uint64_t seed, const std::function<void(Fixture&)>& body,
                    Kernels kernels = Kernels::any, std::int64_t misaligned_elements = 0);

/// `gradient` is that of `loss` with respect to the fp64 tensor x, by central differences.
void check_gradient(const std::function<double()>& loss, const Tensor& x, const Tensor& gradient);

/// Σ weights · y: a scalar whose gradient with respect to y is `weights`.
double weighted_sum(const Tensor& y, const Tensor& weights);

/// `call` fails with an error that names `kernel`.
void check_refused(const char* kernel, const std::function<void()>& call);

}  // namespace dt::kernels::test
