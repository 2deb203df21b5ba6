#include "comm/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::comm {

namespace {

Tensor bytes_of(std::string& text) {
  return {text.data(), DType::u8, Shape{std::ssize(text)}, Device::host()};
}

std::vector<std::int64_t> gather_numbers(Communicator& group, std::int64_t number) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(group.size()));
  numbers[static_cast<std::size_t>(group.rank())] = number;
  const Tensor all = host_tensor(numbers);
  group.all_gather(all.flat(group.rank(), 1), all).wait_host();
  return numbers;
}

std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
    return std::nullopt;
  } catch (...) {
    return current_error();
  }
}

/// The rank whose error all ranks throw, and whether all ranks failed alike.
struct Verdict {
  int rank;  // lowest rank that failed
  bool all_alike;
};

Verdict judge(const std::vector<std::int64_t>& kinds, const std::vector<std::string>& messages) {
  const auto first = std::find_if(kinds.begin(), kinds.end(), [](std::int64_t kind) { return kind != 0; });
  const bool all_alike =
      std::all_of(kinds.begin(), kinds.end(), [&](std::int64_t k) { return k == *first; }) &&
      std::all_of(messages.begin(), messages.end(),
                  [&](const std::string& message) { return message == messages[0]; });
  return {static_cast<int>(first - kinds.begin()), all_alike};
}

/// Throws, on all ranks, the SharedError that the first ranks have thrown.
void share(Communicator& group, const std::optional<SharedError>& failure) {
  const std::int64_t kind = broadcast_number(group, failure ? failure->exit_code() : 0);
  if (kind == 0) return;
  const std::string what = broadcast_text(group, failure ? failure->what() : "");
  const std::string context = broadcast_text(group, failure ? failure->context() : "");
  throw SharedError(static_cast<ErrorKind>(kind), what, context);
}

}  // namespace

std::string broadcast_text(Communicator& group, const std::string& text, int root) {
  const std::int64_t length = broadcast_number(group, static_cast<std::int64_t>(text.size()), root);
  std::string result = group.rank() == root ? text : std::string(static_cast<std::size_t>(length), '\0');
  group.broadcast(bytes_of(result), root).wait_host();
  return result;
}

std::int64_t broadcast_number(Communicator& group, std::int64_t number, int root) {
  group.broadcast(host_tensor(number), root).wait_host();
  return number;
}

std::vector<std::string> gather_texts(Communicator& group, const std::string& text) {
  const std::vector<std::int64_t> lengths = gather_numbers(group, static_cast<std::int64_t>(text.size()));
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  // An all-gather has equal ranges, so all texts are padded to the longest.
  std::string all(static_cast<std::size_t>(longest * group.size()), '\0');
  std::copy(text.begin(), text.end(), all.begin() + longest * group.rank());
  group.all_gather(bytes_of(all).flat(longest * group.rank(), longest), bytes_of(all)).wait_host();
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    texts.push_back(
        all.substr(rank * static_cast<std::size_t>(longest), static_cast<std::size_t>(lengths[rank])));
  }
  return texts;
}

void all_reduce_sum(Communicator& group, std::span<std::int64_t> values) {
  group.all_reduce(host_tensor(values), host_tensor(values)).wait_host();
}

void run_collectively(Communicator& group, const std::function<void()>& body) {
  if (group.size() == 1) return body();  // its error, of whatever type, is the error of all ranks
  const std::optional<Error> error = error_of(body);
  const std::vector<std::int64_t> kinds = gather_numbers(group, error ? error->exit_code() : 0);
  if (std::all_of(kinds.begin(), kinds.end(), [](std::int64_t kind) { return kind == 0; })) return;

  const std::vector<std::string> whats = gather_texts(group, error ? error->what() : "");
  const std::vector<std::string> contexts = gather_texts(group, error ? error->context() : "");
  const std::vector<std::string> rank_labels = gather_texts(group, rank_label(group));
  std::vector<std::string> messages;
  for (std::size_t r = 0; r < whats.size(); ++r) messages.push_back(whats[r] + '\0' + contexts[r]);
  const Verdict verdict = judge(kinds, messages);
  const auto rank = static_cast<std::size_t>(verdict.rank);
  const std::string prefix = verdict.all_alike ? "" : rank_labels[rank] + ": ";
  throw SharedError(static_cast<ErrorKind>(kinds[rank]), prefix + whats[rank], contexts[rank]);
}

std::string rank_label(Communicator& group) {
  const std::string duty = group.engine().recorder().role();
  return fmt::format("rank {} on {}{}", group.rank(), host_name(),
                     duty.empty() ? "" : fmt::format(" ({})", duty));
}

void on_root(const Ranks& ranks, const std::function<void()>& body) {
  run_collectively(ranks.world, [&] {
    if (ranks.is_root()) body();
  });
}

void on_subset(const Ranks& ranks, int count, const std::string& name,
               const std::function<void(const Ranks&)>& body) {
  Communicator& world = ranks.world;
  world.engine().recorder().set_role("");  // its former duty is over
  const bool takes_part = world.rank() < count;
  const auto group = world.split(takes_part ? std::optional(0) : std::nullopt, world.rank(), name);
  const ScopedTimeout timeout(world.engine(), takes_part ? world.engine().timeout() : 0);
  std::optional<SharedError> failure;
  if (takes_part) {
    try {
      body({*group, ranks.console, ranks.abort, ranks.are_processes, ranks.collectives, ranks.nccl});
    } catch (const SharedError& error) {
      failure = error;
    }
  }
  share(world, failure);
}

void require_threads(const Ranks& ranks, int count) {
  std::optional<ReservedThreads> held;
  run_collectively(ranks.world, [&] { held.emplace(count); });
}

}  // namespace dt::comm
