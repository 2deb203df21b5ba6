#include "bench/table/products.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "bench/table/machine.hpp"
#include "bench/table/rows.hpp"
#include "bench/table/timing.hpp"
#include "kernels/linear.hpp"

namespace dt::table {

namespace {

constexpr int rounds = 2;
constexpr double seconds_each = 0.05;

std::function<void()> ours(const Context& context, Pass pass, const Operands& o) {
  if (pass == Pass::forward) return [&context, o] { kernels::linear(context, o.x, o.w, {}, {}, o.y); };
  if (pass == Pass::input) return [&context, o] { kernels::linear_backward_input(context, o.y, o.w, o.dx); };
  return [&context, o] { kernels::linear_backward_weight(context, o.y, o.x, o.dw, {}); };
}

}  // namespace

const char* pass_name(Pass pass) {
  return pass == Pass::forward ? "forward" : pass == Pass::input ? "input" : "weight";
}

Operands Operands::first(std::int64_t rows) const {
  return {x.rows(0, rows), w, y.rows(0, rows), dx.rows(0, rows), dw};
}

double Operands::work() const {
  return 2.0 * static_cast<double>(x.dim(0)) * static_cast<double>(w.numel());
}

void Best::take(double rate_now, const std::string& how_now) {
  if (rate_now > rate) rate = rate_now, how = how_now;
}

double Products::Entry::best() const {
  return std::max({dt.rate, onednn.rate, torch.rate});
}

Products::Products(const std::string& name, const model::ModelSpec& spec, std::int64_t rows, DType dtype)
    : title_(fmt::format("{}, {} rows", name, rows)), rows_(rows), dtype_(dtype) {
  const std::int64_t queries = spec.query_heads * spec.head_dim;
  const std::int64_t qkv = queries + 2 * spec.key_value_heads * spec.head_dim;
  const std::int64_t up =
      spec.feed_forward[0] == &model::swiglu_mlp() ? 2 * spec.mlp_hidden : spec.mlp_hidden;
  const int layers = static_cast<int>(spec.layers);
  for (const Pass pass : {Pass::forward, Pass::input, Pass::weight}) {
    entries_.push_back({"qkv", qkv, spec.hidden, layers, false, pass, {}, {}, {}});
    entries_.push_back({"out", spec.hidden, queries, layers, false, pass, {}, {}, {}});
    entries_.push_back({"up", up, spec.hidden, layers, false, pass, {}, {}, {}});
    entries_.push_back({"down", spec.hidden, spec.mlp_hidden, layers, false, pass, {}, {}, {}});
    entries_.push_back({"head", spec.vocabulary, spec.hidden, 1, true, pass, {}, {}, {}});
  }
  std::ranges::stable_sort(entries_, {}, [](const Entry& e) { return std::pair(e.N, e.K); });
}

void Products::measure(TorchKernels* torch) {
  Tensors memory;
  Operands operands;
  for (Entry& entry : entries_) {
    const bool is_new = !operands.w || operands.w.dim(0) != entry.N || operands.w.dim(1) != entry.K;
    if (is_new) {
      memory = Tensors();
      const Shape weight{entry.N, entry.K}, in{rows_, entry.K}, out{rows_, entry.N};
      operands = {memory.floats(dtype_, in), memory.floats(dtype_, weight), memory.floats(dtype_, out),
                  memory.empty(dtype_, in), memory.empty(DType::f32, weight)};
    }
    measure(entry, operands, torch);
  }
}

void Products::measure(Entry& entry, const Operands& operands, TorchKernels* torch) {
  const FastestContext context;
  for (const std::int64_t rows : chunks(entry)) {
    const Operands part = operands.first(rows);
    const std::string suffix = entry.in_chunks ? fmt::format(" {} rows", rows) : "";
    const Formulation dt{"", ours(context, entry.pass, part)};
    const auto onednn = onednn_formulations(entry.pass, part);
    for (int round = 0; round < rounds; ++round) {
      entry.dt.take(part.work() / best_s(dt.run, seconds_each), suffix);
      for (const Formulation& f : onednn)
        entry.onednn.take(part.work() / best_s(f.run, seconds_each), f.name + suffix);
      if (torch)
        entry.torch.take(part.work() / torch->product_s(entry.pass, dtype_, rows, entry.N, entry.K), suffix);
    }
  }
}

/// Returns chunk sizes: one small enough for caches, and a large one. fp32, which takes several times as
/// long, has one size that suits all libraries.
std::vector<std::int64_t> Products::chunks(const Entry& entry) const {
  if (!entry.in_chunks) return {rows_};
  if (dtype_ == DType::f32) return {std::min<std::int64_t>(rows_, 1024)};
  return {std::min<std::int64_t>(rows_, 512), std::min<std::int64_t>(rows_, 2048)};
}

void Products::print() const {
  title("Products of " + title_ + ": GFLOP/s of dt, oneDNN, PyTorch; dt ÷ the better of the others");
  double least = std::numeric_limits<double>::infinity();
  const Entry* slowest = nullptr;
  const auto shown = [](const Best& best) {
    if (best.rate == 0) return std::string("-");
    return fmt::format("{:.0f}{}{}", best.rate * 1e-9, best.how.empty() || best.how[0] == ' ' ? "" : " ",
                       best.how);
  };
  for (const Entry& e : entries_) {
    const double ratio = e.dt.rate / std::max(e.onednn.rate, e.torch.rate);
    if (ratio < least) least = ratio, slowest = &e;
    at_least(fmt::format("{} {}×{} {}", e.name, e.N, e.K, pass_name(e.pass)), ratio, 1.0,
             fmt::format("dt {}; oneDNN {}; PyTorch {}", shown(e.dt), shown(e.onednn), shown(e.torch)));
  }
  at_least("least of the above", least, 1.0, fmt::format("{} {}", slowest->name, pass_name(slowest->pass)));
}

double Products::best_rate() const {
  double best = 0;
  for (const Entry& entry : entries_) best = std::max(best, entry.best());
  return best;
}

double Products::seconds_at_best() const {
  double seconds = 0;
  for (const Entry& e : entries_) {
    const auto work = 2 * static_cast<double>(rows_) * static_cast<double>(e.N * e.K);
    seconds += e.count * work / e.best();
  }
  return seconds;
}

}  // namespace dt::table
