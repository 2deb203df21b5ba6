#include "train/evaluate/evaluation.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/io/files.hpp"
#include "base/io/permissions.hpp"
#include "base/numeric/exact_sum.hpp"
#include "base/numeric/integer.hpp"
#include "comm/exchange.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/loader.hpp"
#include "kernels/elementwise.hpp"
#include "model/layers/ring_attention.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "parallel/state/device_sums.hpp"
#include "plan/action_lists.hpp"
#include "tensor/host_tensor.hpp"
#include "train/report/metrics_history.hpp"

namespace dt::train {

namespace {

/// Returns ⌊a · b / c⌋, exactly.
std::uint64_t mul_div_floor(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{a} * b / c);
}

}  // namespace

ValidationWindows::ValidationWindows(const data::Mixture& mixture, std::int64_t sequence_length,
                                     std::int64_t micro_batch, std::optional<std::uint64_t> max_windows)
    : size_(micro_batch) {
  const std::uint64_t available = data::num_validation_windows(mixture, sequence_length);
  const std::uint64_t wanted = std::min(available, max_windows.value_or(available));
  std::uint64_t before = 0;
  for (std::size_t source = 0; source < mixture.size(); ++source) {
    const std::uint64_t end = before + data::num_validation_windows(mixture.source(source), sequence_length);
    const std::uint64_t windows =
        available == 0 ? 0 : mul_div_floor(end, wanted, available) - mul_div_floor(before, wanted, available);
    const std::int64_t last_end = micro_batch_ends_.empty() ? 0 : micro_batch_ends_.back();
    windows_.push_back(windows);
    micro_batch_ends_.push_back(last_end + ceil_div(static_cast<std::int64_t>(windows), size_));
    before = end;
  }
}

ValidationWindows::SourceWindows ValidationWindows::micro_batch(std::int64_t index) const {
  DT_CHECK(index >= 0 && index < num_micro_batches(), "micro-batch {} of {}", index, num_micro_batches());
  const auto end = std::ranges::upper_bound(micro_batch_ends_, index);
  const auto source = static_cast<std::size_t>(end - micro_batch_ends_.begin());
  const std::int64_t begin = source == 0 ? 0 : micro_batch_ends_[source - 1];
  const auto first = static_cast<std::uint64_t>((index - begin) * size_);
  return {source, first, std::min(size_, static_cast<std::int64_t>(windows_[source] - first))};
}

std::uint64_t ValidationWindows::total() const {
  return std::accumulate(windows_.begin(), windows_.end(), std::uint64_t{0});
}

bool has_targets(const data::Mixture& mixture, const ValidationWindows& windows,
                 std::int64_t sequence_length) {
  if (!mixture.masks_targets()) return windows.total() > 0;
  for (std::int64_t i = 0; i < windows.num_micro_batches(); ++i) {
    const ValidationWindows::SourceWindows source_windows = windows.micro_batch(i);
    const data::Batch batch = data::validation_batch(mixture.source(source_windows.source), sequence_length,
                                                     source_windows.first, source_windows.count);
    if (data::num_targets(batch) > 0) return true;
  }
  return false;
}

namespace {

/// Returns the micro-batches that a pipeline computes between two checks for signals. They are
/// enough to keep its stages busy.
std::int64_t rounds_between_stop_checks(const model::Layout& layout) {
  return layout.pp > 1 ? 4 * layout.pp : 1;
}

/// Validation windows in micro-batches. There must be no more than the request's.
struct WindowBatches {
  std::vector<data::Batch> batches;
  std::vector<MicroBatches> rows;  // rows of each batch
  std::vector<model::MicroBatch> micro_batches;
  std::vector<std::size_t> sources;  // source of each micro-batch

  void add(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
           const ValidationWindows::SourceWindows& windows, std::vector<std::int64_t>& targets) {
    batches.push_back(data::validation_batch(dataset.source(windows.source), request.sequence_length,
                                             windows.first, windows.count, request.mask_documents));
    if (runtime.local().counts_targets()) targets[windows.source] += data::num_targets(batches.back());
    rows.push_back(runtime.micro_batches(batches.back(), windows.count));
    micro_batches.push_back(rows.back().list().front());
    sources.push_back(windows.source);
  }
};

/// Runs the forwards and waits for them. `rounds` is the most micro-batches that any rank has.
void forward(ModelRuntime& runtime, const WindowBatches& windows, std::int64_t rounds,
             const parallel::StepHooks& hooks) {
  const parallel::LocalTable& local = runtime.local();
  runtime.executor().run(
      plan::evaluation_list(local.layout(), local.place(), runtime.num_units(),
                            static_cast<int>(windows.micro_batches.size()), static_cast<int>(rounds)),
      windows.micro_batches, 0, hooks);
  runtime.context().synchronize();
}

/// Returns the windows that the request takes.
/// Errors: input if there is none.
ValidationWindows require_windows(const data::Mixture& dataset, const EvaluationRequest& request) {
  ValidationWindows windows(dataset, request.sequence_length, request.micro_batch, request.max_windows);
  if (windows.total() > 0) return windows;
  throw comm::SharedError(
      ErrorKind::input,
      fmt::format("the validation split of {} has {} tokens, fewer than one window of {}", dataset.name(),
                  dataset.tokens(data::Split::validation), request.sequence_length + 1),
      "shard the data with a larger --val-fraction");
}

/// Combines the exact sums and the targets of the sources.
Evaluation combine(const std::vector<ExactSum>& nll, const std::vector<std::int64_t>& targets,
                   const data::Mixture& dataset) {
  ExactSum sum;
  Evaluation result;
  for (std::size_t source = 0; source < nll.size(); ++source) {
    const auto tokens = static_cast<std::uint64_t>(targets[source]);
    sum.merge(nll[source]);
    result.tokens += tokens;
    if (nll.size() == 1 || tokens == 0) continue;
    result.sources.push_back(
        {dataset.source_name(source), nll[source].value() / static_cast<double>(tokens), tokens});
  }
  result.loss = result.tokens == 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : sum.value() / static_cast<double>(result.tokens);
  return result;
}

}  // namespace

EvaluationRequest evaluation_request(const plan::Plan& plan, std::function<int()> stop_signal) {
  EvaluationRequest request{.sequence_length = plan.sequence_length,
                            .mask_documents = plan.mask_documents,
                            .micro_batch = plan.micro_batch,
                            .max_windows = {},
                            .stop_signal = std::move(stop_signal)};
  if (plan.evaluation.batches)
    request.max_windows = static_cast<std::uint64_t>(*plan.evaluation.batches * plan.global_batch);
  return request;
}

void check_validation_targets(const data::Mixture& dataset, const EvaluationRequest& request) {
  const ValidationWindows windows(dataset, request.sequence_length, request.micro_batch, request.max_windows);
  if (windows.total() == 0 || has_targets(dataset, windows, request.sequence_length)) return;
  throw Error(
      ErrorKind::input,
      fmt::format("there is nothing to evaluate: none of the tokens in the {} validation windows of {} "
                  "is a target",
                  windows.total(), dataset.name()),
      "shard the data with a larger --val-fraction, or with 0 to have no validation, or take more "
      "--eval-batches");
}

Evaluation evaluate(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                    const comm::Ranks& ranks) {
  comm::Communicator& control = ranks.world;
  const ValidationWindows windows = require_windows(dataset, request);
  // Ranks divide whole micro-batches, so that each window shares its micro-batch with the same
  // windows on any number of ranks.
  const std::int64_t micro_batches = windows.num_micro_batches();
  const parallel::LocalTable& local = runtime.local();
  const int dp = local.layout().dp;
  const Range own = even_range(local.place().dp, dp, micro_batches);
  const std::int64_t rounds = ceil_div(micro_batches, dp);
  std::vector<ExactSum> nll(dataset.size());
  std::vector<ExactSum*> sums_of_sources;
  for (ExactSum& sum : nll) sums_of_sources.push_back(&sum);
  parallel::DeviceSums sums(runtime.context(), static_cast<int>(nll.size()));
  std::vector<std::int64_t> targets(dataset.size());
  WindowBatches batches;  // may be empty; other ranks may need this rank's shard of the weights
  parallel::StepHooks hooks;
  if (local.counts_loss()) {
    hooks.loss = [&](int micro_batch, const Tensor& nll_R) {
      sums.add(static_cast<int>(batches.sources[static_cast<std::size_t>(micro_batch)]), nll_R);
    };
  }
  Progress progress = ranks.console.progress("evaluating", windows.total(), "windows");
  const std::int64_t at_a_time = rounds_between_stop_checks(local.layout());
  for (std::int64_t round = 0; round < rounds; round += at_a_time) {
    std::int64_t signal = request.stop_signal ? request.stop_signal() : 0;
    const Tensor shared = host_tensor(signal);
    control.all_reduce(shared, shared, comm::Reduction::max).wait_host();
    if (signal != 0) return {.stopped_by = static_cast<int>(signal)};
    const std::int64_t end = std::min(rounds, round + at_a_time);
    batches = {};
    for (std::int64_t i = round; i < std::min(end, own.count); ++i)
      batches.add(runtime, dataset, request, windows.micro_batch(own.begin + i), targets);
    forward(runtime, batches, end - round, hooks);
    sums.drain_into(sums_of_sources);
    progress.set(std::min(windows.total(), static_cast<std::uint64_t>(end * dp * request.micro_batch)));
  }
  for (ExactSum& sum : nll) comm::all_reduce_sum(control, sum.digits());
  comm::all_reduce_sum(control, targets);
  return combine(nll, targets, dataset);
}

bool is_evaluation_due(const plan::Plan& plan, const data::Mixture& dataset, std::int64_t step) {
  if (data::num_validation_windows(dataset, plan.sequence_length) == 0) return false;
  return step >= plan.total_steps || (plan.evaluation.every > 0 && step % plan.evaluation.every == 0);
}

bool is_evaluation_missing(const plan::Plan& plan, const data::Mixture& dataset, const run::RunDirectory& run,
                           std::int64_t step) {
  if (!is_evaluation_due(plan, dataset, step)) return false;
  const std::vector<run::Generation> claimed = run.generations();
  return !has_evaluation(run.path() / "metrics.jsonl", step, claimed.empty() ? 0 : claimed.back().number);
}

namespace {

struct OwnedTensor {
  OwnedTensor(Device device, const Shape& shape, DType dtype)
      : buffer(device, static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype)),
        tensor(buffer, dtype, shape) {}
  Buffer buffer;
  Tensor tensor;
};

/// The logits of a sequence. Ranks that share the head have some columns each; context-parallel
/// ranks have some rows.
class Logits {
 public:
  /// Collective: all ranks that hold the head.
  Logits(ModelRuntime& runtime, std::int64_t sequence_length)
      : tensor_(runtime.storage().ranks().tensor()),
        context_ranks_(runtime.storage().ranks().context()),
        vocabulary_(runtime.spec().vocabulary),
        zigzag_{sequence_length / (model::Zigzag::num_chunks * size(context_ranks_)), rank(context_ranks_),
                size(context_ranks_)},
        rows_(sequence_length / size(context_ranks_)),
        dtype_(runtime.storage().precision().compute),
        own_(runtime.context().device(), {rows_, columns_of(runtime.spec(), rank(tensor_)).count}, dtype_),
        rows_TV_(runtime.context().device(), {rows_, vocabulary_}, DType::f32) {
    for (int other = 0; other < size(tensor_); ++other) columns_.push_back(columns_of(runtime.spec(), other));
  }

  /// Returns the tensor to which the head writes this rank's columns of its rows.
  const Tensor& own() const { return own_.tensor; }
  /// Gathers all logits into whole_TV, fp32 on the host, on the first of the ranks.
  /// Collective: all ranks that hold the head.
  void gather(const Context& context, const Tensor& whole_TV) {
    gather_columns(context);
    if (rank(tensor_) > 0) return;
    if (rank(context_ranks_) > 0) return context_ranks_->send(0, rows_TV_.tensor).wait_host();
    place_rows(context, 0, rows_TV_.tensor, whole_TV);
    for (int other = 1; other < size(context_ranks_); ++other) {
      context_ranks_->receive(other, rows_TV_.tensor).wait_host();
      place_rows(context, other, rows_TV_.tensor, whole_TV);
    }
  }

 private:
  static int rank(const comm::Communicator* ranks) { return ranks ? ranks->rank() : 0; }
  static int size(const comm::Communicator* ranks) { return ranks ? ranks->size() : 1; }
  Range columns_of(const model::ModelSpec& spec, int rank) const {
    return model::TensorParallelShard{rank, size(tensor_)}.vocabulary_range(spec);
  }
  void gather_columns(const Context& context) {
    if (rank(tensor_) > 0) return tensor_->send(0, own_.tensor).wait_host();
    place_columns(context, own_.tensor, columns_[0]);
    for (int other = 1; other < size(tensor_); ++other) {
      const Range columns = columns_[static_cast<std::size_t>(other)];
      const OwnedTensor arrived(context.device(), {rows_, columns.count}, dtype_);
      tensor_->receive(other, arrived.tensor).wait_host();
      place_columns(context, arrived.tensor, columns);
    }
  }
  void place_columns(const Context& context, const Tensor& part, const Range& columns) const {
    for (std::int64_t row = 0; row < rows_; ++row)
      kernels::cast(context, part.flat(row * columns.count, columns.count),
                    rows_TV_.tensor.flat(row * vocabulary_ + columns.begin, columns.count));
  }
  void place_rows(const Context& context, int owner, const Tensor& rows, const Tensor& whole_TV) const {
    const bool is_whole = size(context_ranks_) == 1;
    const model::Zigzag zigzag{zigzag_.length, owner, zigzag_.size};
    context.synchronize();  // a copy to memory that is not pinned may itself block
    if (is_whole) kernels::copy(context, rows, whole_TV);
    for (int chunk = 0; !is_whole && chunk < model::Zigzag::num_chunks; ++chunk) {
      const std::int64_t to = zigzag.position(chunk), from = chunk * zigzag.length;
      kernels::copy(context, rows.rows(from, from + zigzag.length), whole_TV.rows(to, to + zigzag.length));
    }
    context.synchronize();  // the next rank's rows come to the same place
  }

  comm::Communicator* tensor_;
  comm::Communicator* context_ranks_;
  std::int64_t vocabulary_;
  model::Zigzag zigzag_;
  std::int64_t rows_;
  DType dtype_;
  std::vector<Range> columns_;  // columns of each rank that shares the head
  OwnedTensor own_, rows_TV_;
};

/// A file of the fp32 logits and int32 tokens of a number of sequences. It appears only when it is
/// complete.
class LogitsFile {
 public:
  LogitsFile(ModelRuntime& runtime, std::int64_t sequence_length, std::int64_t num_sequences,
             const data::Mixture& dataset, const std::filesystem::path& file)
      : target_(file),
        writer_(target_.open()),
        floats_(Device::host(), {sequence_length, runtime.spec().vocabulary}, DType::f32) {
    for (std::size_t i = 0; i < dataset.size(); ++i)
      restrict_readers(target_.path(),
                       ReadAccess::of_file(dataset.source(i).folder() / data::dataset_file_name));
    const auto n = static_cast<std::uint64_t>(num_sequences);
    const auto length = static_cast<std::uint64_t>(sequence_length);
    writer_.declare("/logits", DType::f32,
                    {n, length, static_cast<std::uint64_t>(runtime.spec().vocabulary)});
    writer_.declare("/tokens", DType::i32, {n, length});
    writer_.end_declarations();
  }

  /// Returns the tensor for a sequence's logits.
  const Tensor& logits() const { return floats_.tensor; }
  void write(std::uint64_t sequence, std::span<const std::int32_t> tokens) {
    writer_.write("/tokens", sequence * tokens.size_bytes(), std::as_bytes(tokens));
    writer_.write("/logits", sequence * floats_.tensor.bytes(), floats_.tensor.span_bytes());
  }
  void commit() {
    writer_.close();
    target_.commit(/*overwrite=*/true);
  }

 private:
  AtomicFile target_;
  Hdf5Writer writer_;
  OwnedTensor floats_;
};

}  // namespace

void write_logits(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                  std::int64_t num_sequences, const std::filesystem::path& file, const comm::Ranks& ranks) {
  const parallel::LocalTable& local = runtime.local();
  const bool computes = local.place().dp == 0, writes = computes && local.counts_targets(),
             has_head = computes && local.holds(runtime.num_units() - 1);
  std::optional<LogitsFile> target;
  std::optional<Logits> logits;
  comm::run_collectively(ranks.world, [&] {
    const std::uint64_t available = data::num_validation_windows(dataset, request.sequence_length);
    if (static_cast<std::uint64_t>(num_sequences) > available) {
      throw input_error("--logits-sequences {} exceeds the {} windows of the validation split", num_sequences,
                        available);
    }
    if (has_head) logits.emplace(runtime, request.sequence_length);
    if (writes) target.emplace(runtime, request.sequence_length, num_sequences, dataset, file);
  });
  const ValidationWindows windows(dataset, request.sequence_length, 1,
                                  static_cast<std::uint64_t>(num_sequences));
  std::vector<std::int64_t> targets(dataset.size());
  for (std::int64_t i = 0; i < num_sequences; ++i) {
    WindowBatches window;
    if (computes) {
      window.add(runtime, dataset, request, windows.micro_batch(i), targets);
      if (has_head) window.micro_batches.front().logits_RV = logits->own();
      forward(runtime, window, 1, {});
      if (has_head) logits->gather(runtime.context(), writes ? target->logits() : Tensor());
    }
    comm::run_collectively(ranks.world, [&] {
      if (!writes) return;
      const ValidationWindows::SourceWindows own = windows.micro_batch(i);
      const data::Batch batch =
          data::validation_batch(dataset.source(own.source), request.sequence_length, own.first, 1);
      target->write(static_cast<std::uint64_t>(i), batch.tokens_BT);
    });
  }
  comm::run_collectively(ranks.world, [&] {
    if (writes) target->commit();
  });
}

}  // namespace dt::train
