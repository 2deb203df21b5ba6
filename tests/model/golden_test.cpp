// Compares dt with Hugging Face transformers on tiny random models. tests/golden/README.md
// describes the files.

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/hdf5/hdf5_file.hpp"
#include "device/test_device.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/elementwise.hpp"
#include "model/golden_files.hpp"
#include "model/hf/hf_config.hpp"
#include "model/hf/hf_names.hpp"
#include "support/unit_runner.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::model;
using test::Batch;
using test::Decoder;
using test::Flight;

namespace {

std::vector<double> read(const Hdf5Reader& file, const std::string& dataset) {
  if (file.info(dataset).dtype == DType::f64) return file.read_all<double>(dataset);
  const std::vector<float> values = file.read_all<float>(dataset);
  return {values.begin(), values.end()};
}

/// Transposes values from [rows, columns] to [columns, rows].
std::vector<double> transposed(const std::vector<double>& values, std::int64_t rows, std::int64_t columns) {
  std::vector<double> result;
  result.reserve(values.size());
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r)
      result.push_back(values[static_cast<std::size_t>(r * columns + c)]);
  }
  return result;
}

/// Copies between a stacked tensor as the file stores it and one of its parameters, which begins at row
/// `first`: to the file if `to_stored`.
void copy_rows(const HfTensor& tensor, std::int64_t first, std::vector<double>& stored, std::int64_t rows,
               std::vector<double>& values, bool to_stored) {
  const std::size_t columns = values.size() / static_cast<std::size_t>(rows);
  const StackedRows place{first, rows, tensor.shape[0], tensor.groups};
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto there = stored.begin() + place.at(row) * static_cast<std::int64_t>(columns),
               here = values.begin() + row * static_cast<std::int64_t>(columns);
    if (to_stored)
      std::copy_n(here, columns, there);
    else
      std::copy_n(there, columns, here);
  }
}

/// Calls body(parameter's number, its first row, its rows) for each parameter of a tensor. Without
/// groups, the rows of a transposed tensor are its columns.
template <class Body>
void for_params(const HfTensor& tensor, const Decoder& decoder, const Body& body) {
  std::int64_t first = 0;
  for (const std::string& part : tensor.params) {
    const int param = decoder.table().find(part);
    const std::int64_t rows = decoder.weight(param).dim(0);
    body(param, first, rows);
    first += rows;
  }
}

/// Copies a tensor as stored in the file into dt's parameters.
void scatter(const HfTensor& tensor, std::vector<double> stored, const Decoder& decoder) {
  if (tensor.transposed) stored = transposed(stored, tensor.shape[0], tensor.shape[1]);
  for_params(tensor, decoder, [&](int param, std::int64_t first, std::int64_t rows) {
    const Tensor& weight = decoder.weight(param);
    std::vector<double> values(static_cast<std::size_t>(weight.numel()));
    copy_rows(tensor, first, stored, rows, values, false);
    test::from_doubles(values, weight);
  });
}

/// Returns dt's gradients as the file stores them.
std::vector<double> gather(const HfTensor& tensor, const Decoder& decoder) {
  std::vector<double> stored(static_cast<std::size_t>(tensor.shape.numel()));
  for_params(tensor, decoder, [&](int param, std::int64_t first, std::int64_t rows) {
    std::vector<double> values = test::to_doubles(decoder.grad(param));
    copy_rows(tensor, first, stored, rows, values, true);
  });
  return tensor.transposed ? transposed(stored, tensor.shape[1], tensor.shape[0]) : stored;
}

double norm(const std::vector<double>& values) {
  double squares = 0;
  for (double v : values) squares += v * v;
  return std::sqrt(squares);
}
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

void load_weights(const Hdf5Reader& file, const Decoder& decoder) {
  std::size_t found = 0;
  for (const HfTensor& tensor : hf_tensors(decoder.spec())) {
    const DatasetInfo& info = file.info("/weights/" + tensor.name);
    REQUIRE(tensor.shape.dims() == std::vector<std::int64_t>(info.shape.begin(), info.shape.end()));
    scatter(tensor, read(file, info.path), decoder);
    ++found;
  }
  const std::vector<std::string> all = file.dataset_paths();
  REQUIRE(found ==
          static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const std::string& path) {
            return path.starts_with("/weights/");
          })));
}

/// The expected values of a result. They are transformers' own or, in 16 bits, the exact ones: dt
/// may then be twice as far from them as transformers is. Parts of the gradient in which large
/// terms cancel may be further off than the whole.
struct Expected {
  Expected(const Hdf5Reader& file, const std::string& name, double tolerance_) : tolerance(tolerance_) {
    const std::vector<double> theirs = read(file, "/" + name);
    values = theirs;
    const std::vector<std::string> all = file.dataset_paths();
    if (std::ranges::find(all, "/exact/" + name) == all.end()) return;
    is_exact = true;
    values = read(file, "/exact/" + name);
    tolerance = std::max(tolerance, 2 * distance(theirs, values) / norm(values));
  }
  double error(const std::vector<double>& found, double least_norm = 0) const {
    return distance(found, values) / std::max(norm(values), least_norm);
  }
  std::vector<double> values;
  double tolerance;
  bool is_exact = false;
};

void check_gradients(const Hdf5Reader& file, const Decoder& decoder, double tolerance) {
  double global = 0;
  for (const HfTensor& tensor : hf_tensors(decoder.spec()))
    global = std::hypot(global, norm(read(file, "/gradients/" + tensor.name)));
  double worst = 0, whole = 0;
  for (const HfTensor& tensor : hf_tensors(decoder.spec())) {
    const Expected expected(file, "gradients/" + tensor.name, tolerance);
    INFO(tensor.name);
    const double error = expected.error(gather(tensor, decoder), 1e-3 * global);
    CHECK(error <= (expected.is_exact ? 1.5 : 1.0) * expected.tolerance);
    worst = std::max(worst, error / expected.tolerance);
    whole = std::hypot(whole, error * std::max(norm(expected.values), 1e-3 * global));
  }
  UNSCOPED_INFO("gradients differ by at most " << worst << " of what is allowed");
  CHECK(whole <= tolerance * global);
}

/// Copies all parameters' values or gradients from one decoder to another, possibly on another
/// device.
void copy_all(const Context& context, const Decoder& from, const Decoder& to,
              const Tensor& (Decoder::*values)(int) const) {
  for (int p = 0; p < std::ssize(from.table().params()); ++p)
    kernels::copy(context, (from.*values)(p), (to.*values)(p));
  if (context.device() != Device::host()) accelerator().synchronize(context.stream());
}

/// A copy of a batch's rows on the context's device.
class Placed {
 public:
  Placed(const Context& context, Batch& batch) : micro_batch(batch.whole()) {
    for (Tensor* rows : {&micro_batch.tokens_R, &micro_batch.labels_R, &micro_batch.positions_R}) {
      Buffer& buffer = buffers_.emplace_back(context.device(), rows->bytes());
      const Tensor there(buffer, rows->dtype(), rows->shape());
      kernels::copy(context, *rows, there);
      *rows = there;
    }
  }
  MicroBatch micro_batch;

 private:
  std::vector<Buffer> buffers_;
};

void check_golden(const std::string& name, const Context& context, DType dtype, double tolerance) {
  const Hdf5Reader file(test::golden_file(name, dtype));
  INFO(file.path() << " on " << context.device().to_string()
                   << (context.reference_only() ? " with reference kernels" : ""));
  const ModelSpec spec = parse_hf_config(file.string_attribute("/", "config").value(), file.path().string());
  const Decoder here(spec, dtype), decoder(spec, dtype, SavedActivations::all, context.device());
  load_weights(file, here);
  copy_all(context, here, decoder, &Decoder::weight);
  const auto& shape_BT = file.info("/tokens").shape;
  Batch batch(static_cast<std::int64_t>(shape_BT[0]), static_cast<std::int64_t>(shape_BT[1]),
              file.read_all<std::int32_t>("/tokens"), file.read_all<std::int32_t>("/labels"));
  const Placed placed(context, batch);

  Flight flight(decoder, placed.micro_batch);
  flight.forward(context);
  const Expected logits(file, "logits", tolerance), loss(file, "loss", tolerance);
  const HostMirror nll(context, flight.nll());
  const std::vector<double> losses = test::to_doubles(nll.tensor());
  const double loss_sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  const double loss_error = loss.error({loss_sum / static_cast<double>(batch.targets())});
  CHECK(loss_error <= loss.tolerance);
  const double logits_error =
      logits.error(test::to_doubles(HostMirror(context, flight.logits(context)).tensor()));
  CHECK(logits_error <= logits.tolerance);
  flight.backward(context);
  UNSCOPED_INFO("logits differ by " << logits_error << ", the loss by " << loss_error);
  copy_all(context, decoder, here, &Decoder::grad);
  check_gradients(file, here, tolerance);
}

const std::vector<std::string> models{"gpt2_tied",      "gpt2_untied",      "llama_mha_untied",
                                      "llama_gqa_tied", "llama_gqa_untied", "llama3_rope_biases",
                                      "mistral_window", "qwen2_tied",       "qwen2_window"};
const std::vector<std::string> models_bf16{"gpt2_untied", "llama3_rope_biases", "mistral_window",
                                           "qwen2_tied"};

}  // namespace

TEST_CASE("logits, loss and gradients are those of transformers in fp64") {
  const Context context(2, Device::host());
  for (const auto* list : {&models, &test::golden_families()}) {
    for (const std::string& name : *list) check_golden(name, context, DType::f64, 1e-10);
  }
}
TEST_CASE("logits, loss and gradients are those of transformers in fp32") {
  Context context(2, Device::host());
  context.set_reference_only(GENERATE(true, false));
  for (const std::string& name : models) check_golden(name, context, DType::f32, 1e-5);
  for (const std::string& name : test::golden_families()) check_golden(name, context, DType::f32, 5e-6);
}
TEST_CASE("logits, loss and gradients in bf16 are as near to the exact ones as those of transformers") {
  Context context(2, Device::host());
  for (const Arithmetic multiply : {Arithmetic::fp32, Arithmetic::bf16, Arithmetic::amx}) {
    if (!kernels::supports_arithmetic(multiply)) continue;
    context.set_arithmetic(multiply);
    for (const std::string& name : models_bf16) check_golden(name, context, DType::bf16, 2e-2);
  }
}
TEST_CASE("logits, loss and gradients on a device are those of transformers", "[device][slow]") {
  const test_device::Use device(1);
  const Context context(1, Device::gpu(0));
  for (const std::string& name : models) {
    check_golden(name, context, DType::f64, 1e-10);
    check_golden(name, context, DType::f32, 1e-5);
  }
  for (const std::string& name : test::golden_families()) check_golden(name, context, DType::f64, 1e-10);
  for (const std::string& name : models_bf16) check_golden(name, context, DType::bf16, 2e-2);
}
