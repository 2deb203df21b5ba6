#include "kernels/fixture.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include <hwy/targets.h>

#include "base/numeric/dtype.hpp"
#include "device/test_device.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"

namespace dt::kernels::test {
namespace {

std::uint64_t next(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void set(const Tensor& tensor, std::int64_t i, double value) {
  switch (tensor.dtype()) {
    case DType::f64:
      tensor.data<double>()[i] = value;
      return;
    case DType::bf16:
      tensor.data<BFloat16>()[i] = BFloat16(static_cast<float>(value));
      return;
    case DType::f16:
      tensor.data<Float16>()[i] = Float16(static_cast<float>(value));
      return;
    default:
      tensor.data<float>()[i] = static_cast<float>(value);
  }
}

double get(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
    case DType::f64:
      return tensor.data<double>()[i];
    case DType::bf16:
      return static_cast<float>(tensor.data<BFloat16>()[i]);
    case DType::f16:
      return static_cast<float>(tensor.data<Float16>()[i]);
    default:
      return tensor.data<float>()[i];
  }
}

float rounded(float value, DType dtype) {
  if (dtype == DType::bf16) return static_cast<float>(BFloat16(value));
  return dtype == DType::f16 ? static_cast<float>(Float16(value)) : value;
}

std::vector<Tensor> run_twice(const Case& run, Fixture& fixture) {
  std::vector<Tensor> outputs = run(fixture);
  const std::size_t capacity = fixture.context.scratch().capacity_bytes();
  run(fixture);
  CHECK(fixture.context.scratch().capacity_bytes() <= capacity);
  return outputs;
}

void check_close(const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected, double tolerance) {
  REQUIRE(outputs.size() == expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    INFO("output " << i);
    CHECK(relative_error(outputs[i], expected[i]) < tolerance);
  }
}

void check_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("output " << i);
    CHECK(same_bits(a[i], b[i]));
  }
}

struct Variant {
  DType dtype;
  Arithmetic multiply;
  Threads threads;
  double tolerance;
};

void check_variant(const Case& run, const std::vector<Tensor>& expected, const Variant& variant) {
  Context one(1, Device::host());
  one.set_arithmetic(variant.multiply);
  Fixture aligned(one, variant.dtype);
  const std::vector<Tensor> outputs = run_twice(run, aligned);
  check_close(outputs, expected, variant.tolerance);
  for (const std::int64_t misaligned : {1, 15}) {
    INFO("misaligned by " << misaligned);
    Fixture fixture(one, variant.dtype, misaligned);
    check_same_bits(run(fixture), outputs);
  }
  for (const int count : {2, 3}) {
    INFO(count << " threads");
    Context context(count, Device::host());
    context.set_arithmetic(variant.multiply);
    Fixture fixture(context, variant.dtype);
    const std::vector<Tensor> again = run_twice(run, fixture);
    if (variant.threads == Threads::any) {
      check_same_bits(again, outputs);
    } else {
      check_close(again, expected, variant.tolerance);
    }
  }
}

bool are_hosts_checked = true;

void check_instruction_sets(const Case& run, DType dtype, std::initializer_list<Arithmetic> multiplications,
                            Threads threads, double tolerance) {
  if (!are_hosts_checked) return;
  Context reference(1, Device::host());
  reference.set_reference_only(true);
  Fixture fixture(reference, DType::f32);
  fixture.round_to(dtype);
  const std::vector<Tensor> expected = run(fixture);
  for (const Arithmetic multiply : multiplications)
    for_each_instruction_set([&] {
      if (!supports_arithmetic(multiply)) return;
      INFO(dtype_name(dtype) << " multiplied in " << name_of(multiply));
      check_variant(run, expected, {dtype, multiply, threads, tolerance});
    });
}

/// The outputs of a case, copied to the host.
struct Outcome {
  std::vector<Buffer> memory;
  std::vector<Tensor> outputs;
};

Outcome outcome(const Context& context, const std::vector<Tensor>& outputs) {
  Outcome result;
  for (const Tensor& output : outputs) {
    result.memory.emplace_back(Device::host(), output.bytes());
    result.outputs.emplace_back(result.memory.back(), output.dtype(), output.shape());
    copy(context, output, result.outputs.back());
  }
  return result;
}

Outcome by_reference(const Case& run, DType dtype) {
  Context context(1, Device::host());
  context.set_reference_only(true);
  Fixture fixture(context, statistics_dtype(dtype));
  fixture.round_to(dtype);
  return outcome(context, run(fixture));
}

Outcome on_gpu(const Case& run, DType dtype, std::uint64_t seed, Kernels kernels,
               std::int64_t misaligned_elements = 0) {
  Outcome result;
  const auto body = [&](Fixture& fixture) { result = outcome(fixture.context, run(fixture)); };
  on_test_device(dtype, seed, body, kernels, misaligned_elements);
  return result;
}

}  // namespace

Tensor Fixture::allocate(DType dtype, Shape shape) {
  const std::int64_t elements = shape.numel() + misaligned_elements_;
  buffers_.emplace_back(Device::host(), static_cast<std::size_t>(elements) * dtype_bytes(dtype));
  return Tensor(buffers_.back(), dtype, std::move(shape),
                static_cast<std::size_t>(misaligned_elements_) * dtype_bytes(dtype));
}

Tensor Fixture::placed(const Tensor& tensor) {
  if (context.device() == Device::host()) return tensor;
  const std::size_t begin = static_cast<std::size_t>(misaligned_elements_) * dtype_bytes(tensor.dtype());
  buffers_.emplace_back(context.device(), begin + tensor.bytes());
  const Tensor there(buffers_.back(), tensor.dtype(), tensor.shape(), begin);
  copy(context, tensor, there);
  accelerator().synchronize(context.stream());
  return there;
}

Tensor Fixture::random(Shape shape, std::uint64_t seed, double scale) {
  return random_in(dtype_, std::move(shape), seed, scale);
}

Tensor Fixture::wide_random(Shape shape, std::uint64_t seed, double scale) {
  return random_in(wide_dtype(), std::move(shape), seed, scale);
}

Tensor Fixture::random_gradient(Shape shape, std::uint64_t seed, bool is_wide) {
  return random_in(dtype_ == DType::bf16 && !is_wide ? dtype_ : wide_dtype(), std::move(shape), seed);
}

Tensor Fixture::random_in(DType dtype, Shape shape, std::uint64_t seed, double scale) {
  const Tensor tensor = allocate(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const double unit = static_cast<double>(next(seed) >> 40) / (1 << 23) - 1;
    set(tensor, i, rounded(static_cast<float>(unit * scale), rounding_));
  }
  return placed(tensor);
}

Tensor Fixture::values(Shape shape, const std::vector<double>& values) {
  const Tensor tensor = allocate(dtype_, std::move(shape));
  REQUIRE(tensor.numel() == std::ssize(values));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) set(tensor, i, values[static_cast<std::size_t>(i)]);
  return placed(tensor);
}

Tensor Fixture::ids(const std::vector<std::int32_t>& values) {
  const Tensor tensor = allocate(DType::i32, {std::ssize(values)});
  std::copy(values.begin(), values.end(), tensor.data<std::int32_t>());
  return placed(tensor);
}

Tensor Fixture::random_ids(std::int64_t count, std::int32_t lowest, std::int32_t end, std::uint64_t seed) {
  const Tensor tensor = allocate(DType::i32, {count});
  for (std::int32_t& id : tensor.span<std::int32_t>()) {
    id = lowest + static_cast<std::int32_t>(next(seed) % static_cast<std::uint64_t>(end - lowest));
  }
  return placed(tensor);
}

Tensor Fixture::output(Shape shape) {
  return unwritten(dtype_, std::move(shape));
}

Tensor Fixture::output_f64(Shape shape) {
  return unwritten(DType::f64, std::move(shape));
}

Tensor Fixture::wide_output(Shape shape) {
  return unwritten(wide_dtype(), std::move(shape));
}

Tensor Fixture::unwritten(DType dtype, Shape shape) {
  const Tensor tensor = allocate(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) set(tensor, i, std::numeric_limits<double>::quiet_NaN());
  return placed(tensor);
}

Tensor Fixture::padded(const Tensor& matrix) {
  const std::int64_t R = matrix.dim(0), C = matrix.dim(1), pitch = row_pitch(context.device(), C);
  if (pitch == C) return matrix;
  const Tensor from = on_host(matrix), rows = allocate(matrix.dtype(), {R, pitch});
  for (std::int64_t i = 0; i < R * pitch; ++i)
    set(rows, i,
        i % pitch < C ? get(from, i / pitch * C + i % pitch) : std::numeric_limits<double>::quiet_NaN());
  return placed(rows).first_columns(C);
}

Tensor Fixture::unpadded(const Tensor& matrix) {
  const std::int64_t R = matrix.dim(0), C = matrix.dim(1), pitch = matrix.pitch();
  if (pitch == C) return matrix;
  const Tensor rows = on_host(Tensor(matrix.raw(), matrix.dtype(), {R, pitch}, matrix.device())),
               to = allocate(matrix.dtype(), {R, C});
  bool is_padding_untouched = true;
  for (std::int64_t i = 0; i < R * pitch; ++i) {
    if (i % pitch < C) set(to, i / pitch * C + i % pitch, get(rows, i));
    if (i % pitch >= C && !std::isnan(get(rows, i))) is_padding_untouched = false;
  }
  CHECK(is_padding_untouched);
  return placed(to);
}

Tensor Fixture::on_host(const Tensor& tensor) {
  return copies_.emplace_back(context, tensor).tensor();
}

std::vector<double> to_doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values[static_cast<std::size_t>(i)] = get(tensor, i);
  return values;
}

double relative_error(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const std::vector<double> x = to_doubles(a), y = to_doubles(b);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return std::numeric_limits<double>::infinity();
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

void for_each_instruction_set(const std::function<void()>& body) {
  for (const std::int64_t set : {HWY_AVX3, HWY_AVX2, HWY_NEON, HWY_SCALAR}) {
    if (!(hwy::SupportedTargets() & set)) continue;
    INFO("instruction set " << hwy::TargetName(set));
    hwy::GetChosenTarget().Update(set);
    body();
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

void check_devices_only() {
  are_hosts_checked = false;
}

void check_fast_kernel(const Case& run, Threads threads, double tolerance) {
  check_instruction_sets(run, DType::f32, {Arithmetic::fp32}, threads, tolerance);
}

void check_fast_half_kernel(const Case& run, Threads threads, double tolerance) {
  check_instruction_sets(run, DType::f16, {Arithmetic::fp32}, threads, tolerance);
  check_instruction_sets(run, DType::bf16,
                         {Arithmetic::fp32, Arithmetic::bf16, Arithmetic::amx, Arithmetic::amx_by_loops},
                         threads, tolerance);
}

void check_gpu_kernel(const Case& run, const GpuTolerances& tolerances, Kernels kernels) {
  const std::pair<DType, double> by_dtype[] = {{DType::f64, tolerances.f64},
                                               {DType::f32, tolerances.f32},
                                               {DType::f16, tolerances.f16},
                                               {DType::bf16, tolerances.bf16}};
  for (const auto& [dtype, tolerance] : by_dtype) {
    INFO("on the test device, " << dtype_name(dtype));
    const Outcome expected = by_reference(run, dtype);
    const Outcome first = on_gpu(run, dtype, 1, kernels), again = on_gpu(run, dtype, 2, kernels);
    check_close(first.outputs, expected.outputs, tolerance);
    check_same_bits(first.outputs, again.outputs);
  }
}

void check_gpu_places(const Case& run) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Outcome aligned = on_gpu(run, dtype, 1, Kernels::any);
    for (const std::int64_t misaligned : {1, 4}) {
      INFO("on the test device, " << dtype_name(dtype) << " misaligned by " << misaligned);
      check_same_bits(on_gpu(run, dtype, 1, Kernels::any, misaligned).outputs, aligned.outputs);
    }
  }
}

void check_gpu_as_cpu(DType dtype, const Case& run, double tolerance) {
  const Context host(1, Device::host());
  for (const std::int64_t misaligned : {0, 1, 4}) {
    INFO("on the test device, " << dtype_name(dtype) << " misaligned by " << misaligned);
    Fixture fixture(host, dtype);
    const Outcome expected = outcome(host, run(fixture));
    check_close(on_gpu(run, dtype, 1, Kernels::any, misaligned).outputs, expected.outputs, tolerance);
  }
}

void on_test_device(DType dtype, std::uint64_t seed, const std::function<void(Fixture&)>& body,
                    Kernels kernels, std::int64_t misaligned_elements) {
  const test_device::Use device(seed);
  Context context(1, Device::gpu(0));
  context.set_reference_only(kernels == Kernels::own);
  Fixture fixture(context, dtype, misaligned_elements);
  body(fixture);
  accelerator().synchronize(context.stream());
}

void check_gradient(const std::function<double()>& loss, const Tensor& x, const Tensor& gradient) {
  constexpr double step = 1e-5;
  const std::vector<double> analytic = to_doubles(gradient);
  double largest = 1e-3;
  for (const double value : analytic) largest = std::max(largest, std::abs(value));
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    double& value = x.data<double>()[i];
    const double before = value;
    value = before + step;
    const double above = loss();
    value = before - step;
    const double below = loss();
    value = before;
    INFO("element " << i);
    CHECK((above - below) / (2 * step) ==
          Approx(analytic[static_cast<std::size_t>(i)]).margin(1e-8 * largest).epsilon(1e-6));
  }
}

double weighted_sum(const Tensor& y, const Tensor& weights) {
  const std::vector<double> a = to_doubles(y), b = to_doubles(weights);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void check_refused(const char* kernel, const std::function<void()>& call) {
  try {
    call();
    FAIL(kernel << " accepted what it should refuse");
  } catch (const Error& error) {
    CHECK_THAT(error.message(), Catch::Contains(std::string(kernel) + ":"));
  }
}

}  // namespace dt::kernels::test
