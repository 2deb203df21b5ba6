#include "train/layout_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "base/host.hpp"
#include "checkpoint/weight_source.hpp"
#include "comm/exchange.hpp"
#include "parallel/traffic.hpp"
#include "train/data_parallel.hpp"
#include "train/start.hpp"
#include "train/stepper.hpp"

namespace dt::train {

namespace {

/// Of gathers and sums that this rank took part in; the decision points' own are not counted.
std::int64_t recorded_bytes(comm::Communicator& group) {
  comm::Recorder& recorder = group.engine().recorder();
  return recorder.bytes(comm::OperationKind::all_gather) +
         recorder.bytes(comm::OperationKind::reduce_scatter) +
         recorder.bytes(comm::OperationKind::all_reduce);
}

/// The masters of a group, whole. Called by all ranks together; only ranks that hold a part of them take
/// part.
Tensor whole_masters(const parallel::ModelStorage& storage, int group, Buffer& buffer) {
  const Tensor part = storage.group_masters(group);
  if (!storage.division().divides_optimizer()) return part;
  const std::int64_t numel = storage.table().groups()[static_cast<std::size_t>(group)].numel;
  buffer = Buffer(Device{}, static_cast<std::size_t>(numel) * dtype_bytes(part.dtype()));
  const Tensor whole(buffer.data(), part.dtype(), Shape{numel});
  storage.sharding().shards->all_gather(part, whole, parallel::shard_granule).wait();
  return whole;
}

template <class T>
void add_difference(const Tensor& values, const Tensor& reference, double& most, double& squares,
                    double& reference_squares) {
  const auto a = values.span<T>(), b = reference.span<T>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    most = std::max(most, std::abs(difference));
    squares += difference * difference;
    reference_squares += double{b[i]} * double{b[i]};
  }
}

WeightsDifference keep_or_compare(const parallel::ModelStorage& storage, bool is_first,
                                  KeptWeights& reference, bool is_reference) {
  WeightsDifference difference;
  double squares = 0, reference_squares = 0;
  for (int group = 0; group < storage.num_groups(); ++group) {
    Buffer gathered;
    const Tensor values = whole_masters(storage, group, gathered);
    if (!is_first) continue;
    if (is_reference) {
      reference.append(values);
      continue;
    }
    const Buffer kept(Device{}, values.bytes());
    const Tensor expected(kept.data(), values.dtype(), values.shape());
    reference.read(expected);
    difference.same_bits =
        difference.same_bits && std::memcmp(values.raw(), expected.raw(), values.bytes()) == 0;
    if (values.dtype() == DType::f64) {
      add_difference<double>(values, expected, difference.most, squares, reference_squares);
    } else {
      add_difference<float>(values, expected, difference.most, squares, reference_squares);
    }
  }
  difference.relative = reference_squares > 0 ? std::sqrt(squares / reference_squares) : std::sqrt(squares);
  return difference;
}

std::int64_t expected_bytes(const Plan& plan, const ModelRuntime& runtime, const DataParallel& groups) {
  const comm::Communicator* replicas = groups.sharding.replicas;
  const parallel::Traffic traffic{runtime.table(), plan.precision, groups.sharding.division(),
                                  replicas ? replicas->size() : 1};
  const std::vector<std::int64_t> bytes =
      traffic.bytes_of(parallel::build_training_step(step_shape(plan, runtime.num_units())));
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace

KeptWeights::KeptWeights() : file_(std::tmpfile()) {
  if (!file_) throw system_error(errno, "create", "a temporary file for the reference's weights");
}

void KeptWeights::append(const Tensor& values) {
  if (std::fwrite(values.raw(), 1, values.bytes(), file_.get()) != values.bytes())
    throw system_error(errno, "write", "the reference's weights");
}

void KeptWeights::read(const Tensor& values) {
  if (std::fread(values.raw(), 1, values.bytes(), file_.get()) != values.bytes())
    throw system_error(errno, "read", "the reference's weights");
}

void KeptWeights::rewind() {
  std::rewind(file_.get());
}

LayoutResult run_layout(const Plan& plan, const Settings& settings, const data::TokenDataset& dataset,
                        const comm::Ranks& ranks, const LayoutRequest& request) {
  comm::Communicator& world = ranks.world;
  reset_peak_resident();
  world.barrier().wait();
  const DataParallel groups = divide_ranks(plan, world);
  std::unique_ptr<ModelRuntime> runtime;
  comm::together(world, [&] {
    runtime = std::make_unique<ModelRuntime>(plan, ModelRuntime::Purpose::training, groups.sharding);
    if (settings.init_from) {
      runtime->load_weights(*checkpoint::open_weights(*settings.init_from));
    } else {
      runtime->initialise_weights(plan.seed);
    }
  });
  checkpoint::TrainingState state = initial_state(plan, dataset);
  Stepper stepper(plan, *runtime, dataset, state, world);
  LayoutResult result;
  const std::int64_t bytes_before = recorded_bytes(world);
  double seconds = 0;
  while (state.step < plan.total_steps) {
    StepTimes times;
    const Decision decision =
        stepper.step([&](StepReport& report) { report.signal = request.stop_signal(); }, times);
    if (decision.stop) {
      result.stopped_by = decision.stop_signal;
      return result;
    }
    if (!decision.finite && !decision.skip) {
      throw comm::SharedError(ErrorKind::input,
                              fmt::format("step {}: the loss is not finite", state.step + 1),
                              "lower --lr or lengthen --warmup-steps");
    }
    result.losses.push_back(decision.loss);
    if (state.step > 1) seconds += times.step_s + times.data_wait_s;
  }
  const std::int64_t steps = plan.total_steps;
  const std::int64_t control_bytes = world.size() > 1 ? StepReport::bytes() * steps : 0;
  result.moved_bytes = (recorded_bytes(world) - bytes_before - control_bytes) / steps;
  result.expected_bytes = expected_bytes(plan, *runtime, groups);
  result.data_digest = state.data_digest;
  result.storage = runtime->storage().bytes();
  if (seconds > 0) result.tokens_per_s = static_cast<double>((steps - 1) * plan.tokens_per_step()) / seconds;
  auto peak = static_cast<std::int64_t>(peak_resident_bytes());
  const Tensor most(&peak, DType::i64, Shape{1});
  world.all_reduce(most, most, comm::Reduction::max).wait();
  result.peak_bytes = static_cast<std::uint64_t>(peak);
  result.weights =
      keep_or_compare(runtime->storage(), world.rank() == 0, request.reference, request.is_reference);
  return result;
}

}  // namespace dt::train
