#include "train/step/decision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <signal.h>
#include <vector>

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "optim/gradient_scale.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::train {

namespace {

/// Signals that request a stop, the most pressing last.
constexpr std::array stop_signals{SIGHUP, SIGINT, SIGUSR1, SIGTERM};

/// Moves numbers between a report and the vector that ranks sum. It writes the vector before the
/// sum and reads it afterwards.
class Int64Serializer {
 public:
  Int64Serializer(std::vector<std::int64_t>& numbers, bool writes) : numbers_(numbers), writes_(writes) {}
  void visit(std::int64_t& number) {
    if (writes_) {
      numbers_.push_back(number);
    } else {
      number = numbers_[next_++];
    }
  }
  void visit(bool& flag) {
    std::int64_t count = flag ? 1 : 0;
    visit(count);
    flag = count != 0;
  }
  void visit(std::uint64_t& number) {
    auto wrapped = static_cast<std::int64_t>(number);
    visit(wrapped);
    number = static_cast<std::uint64_t>(wrapped);
  }
  void visit(ExactSum& sum) {
    for (std::int64_t& digit : sum.digits()) visit(digit);
  }
  void visit_signal(int& signal) {
    int found = 0;
    for (const int candidate : stop_signals) {
      bool received = signal == candidate;
      visit(received);
      if (received) found = candidate;
    }
    signal = found;
  }

 private:
  std::vector<std::int64_t>& numbers_;
  bool writes_;
  std::size_t next_ = 0;
};

void visit(LocalStepReport& report, Int64Serializer cursor) {
  cursor.visit(report.nll);
  for (ExactSum& sum : report.auxiliary) cursor.visit(sum);
  cursor.visit(report.squared_norm);
  cursor.visit(report.data_digest);
  cursor.visit(report.head_digest);
  cursor.visit(report.next_targets);
  cursor.visit_signal(report.signal);
  cursor.visit(report.output_failed);
  cursor.visit(report.superseded);
  cursor.visit(report.save.shards_written);
  cursor.visit(report.save.commits);
  cursor.visit(report.save.has_failed);
}

}  // namespace

std::int64_t LocalStepReport::bytes(std::size_t num_auxiliary_losses, std::size_t num_scores) {
  LocalStepReport report(num_auxiliary_losses);
  std::vector<std::int64_t> numbers;
  visit(report, {numbers, true});
  return static_cast<std::int64_t>(numbers.size() * sizeof(std::int64_t) + num_scores * sizeof(double));
}

void LocalStepReport::all_reduce(comm::Communicator& world) {
  if (world.size() == 1) return;
  std::vector<std::int64_t> numbers;
  visit(*this, {numbers, true});
  comm::all_reduce_sum(world, numbers);
  visit(*this, {numbers, false});
  if (max_scores.empty()) return;
  const Tensor scores = host_tensor(max_scores);
  world.all_reduce(scores, scores, Reduction::max).wait_host();
}

double Decision::total_loss() const {
  double total = loss;
  for (const AuxiliaryValue& one : auxiliary) total += one.loss.coefficient * one.value;
  return total;
}

Decision decide(const LocalStepReport& combined, std::int64_t num_targets, double clip_norm,
                double loss_scale, std::span<const model::AuxiliaryLoss> auxiliary, std::int64_t num_tokens) {
  DT_CHECK(auxiliary.size() == combined.auxiliary.size(), "{} auxiliary losses, {} sums", auxiliary.size(),
           combined.auxiliary.size());
  Decision decision;
  decision.loss = combined.nll.value() / static_cast<double>(num_targets);
  decision.grad_norm = std::sqrt(combined.squared_norm.value()) / loss_scale;
  for (std::size_t i = 0; i < auxiliary.size(); ++i) {
    const std::int64_t count = auxiliary[i].is_of_targets ? num_targets : num_tokens;
    decision.auxiliary.push_back({auxiliary[i], combined.auxiliary[i].value() / static_cast<double>(count)});
  }
  decision.finite = std::isfinite(decision.total_loss()) && std::isfinite(decision.grad_norm);
  decision.grad_scale = optim::clip_scale(decision.grad_norm, clip_norm) / loss_scale;
  decision.stop_signal = combined.signal;
  decision.stop = combined.signal != 0 || combined.output_failed;
  decision.superseded = combined.superseded;
  decision.save = combined.save;
  decision.data_digest = combined.data_digest;
  return decision;
}

}  // namespace dt::train
