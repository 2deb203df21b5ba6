// Immediate post-dominators of a kernel's branches.
// Source: Cooper, Harvey, Kennedy 2001, "A Simple, Fast Dominance Algorithm", on the reversed graph.
#include "device/ptx/flow.hpp"

#include <algorithm>
#include <utility>

namespace dt::ptx {

namespace {

/// Basic blocks, and a virtual block behind them to which every exit leads.
class Graph {
 public:
  explicit Graph(const std::vector<Instruction>& code) : code_(code) {
    const std::size_t end = code.size();
    std::vector<char> begins(end + 1, 0);
    begins[0] = begins[end] = 1;
    for (std::size_t i = 0; i < end; ++i) {
      if (code[i].flow == Flow::branch) begins[code[i].target] = begins[i + 1] = 1;
      if (code[i].flow == Flow::exit) begins[i + 1] = 1;
    }
    block_of_.resize(end + 1);
    for (std::size_t i = 0; i <= end; ++i) {
      if (begins[i] != 0) first_.push_back(static_cast<std::uint32_t>(i));
      block_of_[i] = first_.size() - 1;
    }
    successors_.resize(first_.size());
    predecessors_.resize(first_.size());
    for (std::size_t block = 0; block + 1 < first_.size(); ++block) connect(block);
  }

  std::size_t exit() const { return first_.size() - 1; }
  std::size_t block_of(std::size_t instruction) const { return block_of_[instruction]; }
  std::uint32_t first(std::size_t block) const { return first_[block]; }
  const std::vector<std::size_t>& successors(std::size_t block) const { return successors_[block]; }
  const std::vector<std::size_t>& predecessors(std::size_t block) const { return predecessors_[block]; }

 private:
  void connect(std::size_t block) {
    const Instruction& last = code_[first_[block + 1] - 1];
    const auto lead_to = [&](std::size_t other) {
      successors_[block].push_back(other);
      predecessors_[other].push_back(block);
    };
    if (last.flow == Flow::branch) lead_to(block_of_[last.target]);
    if (last.flow == Flow::exit) lead_to(exit());
    const bool always_leaves = (last.flow == Flow::branch || last.flow == Flow::exit) && last.guard < 0;
    if (!always_leaves) lead_to(block + 1);
  }

  const std::vector<Instruction>& code_;
  std::vector<std::uint32_t> first_;
  std::vector<std::size_t> block_of_;
  std::vector<std::vector<std::size_t>> successors_, predecessors_;
};

/// Returns the blocks from which the exit is reached, in the reversed graph's postorder.
std::vector<std::size_t> postorder_from_exit(const Graph& graph) {
  std::vector<std::size_t> order;
  std::vector<char> seen(graph.exit() + 1, 0);
  std::vector<std::pair<std::size_t, std::size_t>> path{{graph.exit(), 0}};
  seen[graph.exit()] = 1;
  while (!path.empty()) {
    auto& [block, next] = path.back();
    if (next == graph.predecessors(block).size()) {
      order.push_back(block);
      path.pop_back();
      continue;
    }
    const std::size_t other = graph.predecessors(block)[next++];
    if (std::exchange(seen[other], 1) == 0) path.emplace_back(other, 0);
  }
  return order;
}

std::vector<std::size_t> post_dominators(const Graph& graph) {
  const std::size_t none = graph.exit() + 1;
  const std::vector<std::size_t> order = postorder_from_exit(graph);
  std::vector<std::size_t> place(none, none), dominator(none, none);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  dominator[graph.exit()] = graph.exit();
  const auto common = [&](std::size_t a, std::size_t b) {
    while (a != b) {
      while (place[a] < place[b]) a = dominator[a];
      while (place[b] < place[a]) b = dominator[b];
    }
    return a;
  };
  for (bool changes = true; std::exchange(changes, false);) {
    for (std::size_t i = order.size() - 1; i-- > 0;) {
      std::size_t of_all = none;
      for (const std::size_t other : graph.successors(order[i])) {
        if (place[other] == none || dominator[other] == none) continue;
        of_all = of_all == none ? other : common(of_all, other);
      }
      changes = changes || dominator[order[i]] != of_all;
      dominator[order[i]] = of_all;
    }
  }
  return dominator;
}

}  // namespace

void find_meetings(std::vector<Instruction>& code) {
  const Graph graph(code);
  const std::vector<std::size_t> dominator = post_dominators(graph);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].flow != Flow::branch) continue;
    const std::size_t block = dominator[graph.block_of(i)];
    code[i].meeting = block > graph.exit() ? static_cast<std::uint32_t>(code.size()) : graph.first(block);
  }
}

}  // namespace dt::ptx
