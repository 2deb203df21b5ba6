#include "equivalence/layout_run.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"
#include "equivalence/parameter_gatherer.hpp"
#include "plan/action_lists.hpp"
#include "plan/time/forecast.hpp"
#include "tensor/host_tensor.hpp"
#include "train/start/start.hpp"
#include "train/step/non_finite.hpp"
#include "train/step/stepper.hpp"

namespace dt::equivalence {

namespace {

template <class T>
void add_difference(const Tensor& values, const Tensor& reference, double& most, double& squares,
                    double& reference_squares) {
  const auto a = values.span<T>(), b = reference.span<T>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    if (!(std::abs(difference) <= most)) most = std::abs(difference);  // true for NaN too
    squares += difference * difference;
    reference_squares += double{b[i]} * double{b[i]};
  }
}

WeightsDifference keep_or_compare(train::ModelRuntime& runtime, comm::Communicator& world,
                                  const LayoutRequest& request) {
  WeightsDifference difference;
  double squares = 0, reference_squares = 0;
  std::uint64_t offset = 0;
  ParameterGatherer(runtime.context(), runtime.storage(), world).visit([&](const Tensor& values) {
    if (request.is_reference) {
      request.reference->write(offset, values);
    } else {
      const Buffer copied(Device::host(), values.bytes());
      const Tensor expected(copied, values.dtype(), values.shape());
      request.reference->read(offset, expected);
      difference.bit_identical =
          difference.bit_identical && std::memcmp(values.raw(), expected.raw(), values.bytes()) == 0;
      (values.dtype() == DType::f64
           ? add_difference<double>
           : add_difference<float>)(values, expected, difference.max_absolute, squares, reference_squares);
    }
    offset += values.bytes();
  });
  difference.relative_norm =
      reference_squares > 0 ? std::sqrt(squares / reference_squares) : std::sqrt(squares);
  return difference;
}

/// The bytes that one step moves, by its list.
struct StepBytes {
  std::int64_t gathers = 0;
  std::int64_t updates = 0;  // by the optimizer
  std::int64_t sums = 0;
};

StepBytes step_bytes(const plan::Plan& plan) {
  const parallel::ActionList list = plan::training_list(plan);
  const std::vector<std::int64_t> bytes = plan::comm_bytes_per_action(plan, list);
  StepBytes total;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_update = list[i].kind == parallel::ActionKind::step;
    const bool is_gather = list[i].kind == parallel::ActionKind::gather;
    (is_gather ? total.gathers : is_update ? total.updates : total.sums) += bytes[i];
  }
  return total;
}

/// Makes all steps. Returns false if a signal stopped them.
bool make_steps(const plan::Plan& plan, train::Stepper& stepper, checkpoint::TrainingState& state,
                const StepBytes& each, const LayoutRequest& request, LayoutResult& result) {
  double seconds = 0;
  bool weights_changed = true;  // a skipped step leaves them as they were gathered
  while (state.step < plan.total_steps) {
    train::StepTimes times;
    const train::Decision decision =
        stepper.step([&](train::LocalStepReport& report) { report.signal = request.stop_signal(); }, times);
    if (!decision.finite && !decision.skip) {
      throw comm::SharedError(
          ErrorKind::input, train::describe_non_finite(state.step + 1, decision, stepper.first_non_finite()),
          "lower --lr or lengthen --warmup-steps");
    }
    result.losses.push_back(decision.loss);
    result.expected_bytes += each.sums + (weights_changed || plan.layout.zero == 3 ? each.gathers : 0);
    weights_changed = decision.finite;
    result.expected_bytes += decision.finite ? each.updates : 0;
    if (state.step > 1) seconds += times.step_s + times.data_wait_s;
    if (decision.stop) {
      result.stopped_by = decision.stop_signal;
      return false;
    }
  }
  if (seconds > 0)
    result.tokens_per_s = static_cast<double>((plan.total_steps - 1) * plan.tokens_per_step()) / seconds;
  return true;
}

bool all_agree(comm::Communicator& group, bool own) {
  std::int64_t least = own ? 1 : 0;
  const Tensor value = host_tensor(least);
  group.all_reduce(value, value, comm::Reduction::min).wait_host();
  return least != 0;
}

std::uint64_t most_resident_bytes(comm::Communicator& group) {
  auto peak = static_cast<std::int64_t>(peak_resident_bytes());
  const Tensor most = host_tensor(peak);
  group.all_reduce(most, most, comm::Reduction::max).wait_host();
  return static_cast<std::uint64_t>(peak);
}

}  // namespace

TemporaryWeightsFile::TemporaryWeightsFile() {
  std::string path = (fs::temp_directory_path() / "dt-weights-XXXXXX").string();
  file_ = ::mkstemp(path.data());
  if (file_ < 0) throw system_error(errno, "create", path);
  ::unlink(path.c_str());
}

TemporaryWeightsFile::~TemporaryWeightsFile() {
  ::close(file_);
}

void TemporaryWeightsFile::write(std::uint64_t offset, const Tensor& values) {
  std::span<const std::byte> left = values.span_bytes();
  while (!left.empty()) {
    const ssize_t done = ::pwrite(file_, left.data(), left.size(), static_cast<off_t>(offset));
    if (done < 0)
      throw system_error(errno, "write",
                         "the weights of the reference layout in " + fs::temp_directory_path().string());
    left = left.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

void TemporaryWeightsFile::read(std::uint64_t offset, const Tensor& values) const {
  std::span<std::byte> left = values.span_bytes();
  while (!left.empty()) {
    const ssize_t done = ::pread(file_, left.data(), left.size(), static_cast<off_t>(offset));
    if (done < 0) throw system_error(errno, "read", "the weights of the reference layout");
    DT_CHECK(done > 0, "the reference has fewer weights");
    left = left.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

LayoutResult run_layout(const plan::Plan& plan, const data::Mixture& dataset, const comm::Ranks& ranks,
                        const LayoutRequest& request) {
  comm::Communicator& world = ranks.world;
  reset_peak_resident();
  world.barrier().wait_host();
  world.set_bucket_bytes(plan.comm_bucket_bytes);
  const auto groups = plan::make_groups(plan, world);
  std::unique_ptr<train::ModelRuntime> runtime;
  comm::run_collectively(world, [&] {
    runtime = std::make_unique<train::ModelRuntime>(plan, train::ModelRuntime::Purpose::training, *groups);
    train::load_initial_weights(*runtime, plan);
  });
  checkpoint::TrainingState state = train::initial_state(plan, dataset);
  train::Stepper stepper(plan, *runtime, dataset, state, world);
  LayoutResult result;
  const std::int64_t bytes_before = parallel::recorded_bytes(world);
  const StepBytes each = step_bytes(plan);
  if (!make_steps(plan, stepper, state, each, request, result)) return result;
  // The recorded bytes include the sums of decision points.
  const std::size_t num_auxiliary = runtime->auxiliary_losses().size();
  const auto num_scores =
      static_cast<std::size_t>(plan.qk_clip > 0 ? plan.spec.layers * plan.spec.query_heads : 0);
  const std::int64_t control_bytes =
      world.size() > 1 ? train::LocalStepReport::bytes(num_auxiliary, num_scores) * plan.total_steps : 0;
  result.moved_bytes =
      parallel::recorded_bytes(world) - bytes_before - control_bytes - runtime->executor().warm_up_bytes();
  result.data_digest = state.data_digest;
  result.storage = runtime->storage().bytes();
  result.peak_bytes = most_resident_bytes(world);
  result.all_moved_as_expected = all_agree(world, result.moved_bytes == result.expected_bytes);
  result.weights = keep_or_compare(*runtime, world, request);
  return result;
}

}  // namespace dt::equivalence
