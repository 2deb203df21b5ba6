#include "bench/measure.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/system/host.hpp"
#include "bench/pattern.hpp"
#include "comm/exchange.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<RelativeRate> compare_to_median(const std::vector<std::string>& likes,
                                            const std::vector<double>& values, double fraction) {
  std::map<std::string, std::vector<double>> values_of;
  for (std::size_t i = 0; i < values.size(); ++i) values_of[likes[i]].push_back(values[i]);
  std::map<std::string, double> median_of;
  for (const auto& [like, its_values] : values_of) median_of[like] = median(its_values);
  std::vector<RelativeRate> standings;
  for (std::size_t i = 0; i < values.size(); ++i)
    standings.push_back({median_of[likes[i]], values[i] < fraction * median_of[likes[i]]});
  return standings;
}

namespace {

/// Buffers of this size begin at a huge page. Smaller ones could lie anywhere. If the addresses of two
/// differ by little modulo 4 KiB, a processor holds back loads for stores that they seem to depend on.
/// This costs up to half of a small reduction's time.
constexpr std::size_t least_bytes = std::size_t{4} << 20;

/// Returns the seconds per call.
double time_calls(const CollectiveCall& call, const CollectiveCall& begin, std::int64_t iterations) {
  begin();
  const double start = monotonic_s();
  for (std::int64_t i = 0; i < iterations; ++i) call.start();
  call.finish();
  return (monotonic_s() - start) / static_cast<double>(iterations);
}

Timing over_ranks(comm::Communicator& group, double seconds) {
  std::array<double, 2> extremes = {seconds, -seconds};
  double sum = seconds;
  const Tensor extremes_2 = host_tensor(extremes), sum_1 = host_tensor(sum);
  group.all_reduce(extremes_2, extremes_2, comm::Reduction::max).wait_host();
  group.all_reduce(sum_1, sum_1, comm::Reduction::sum).wait_host();
  return {extremes[0], -extremes[1], sum / group.size(), std::nullopt};
}

/// Fills a tensor. `write` receives all of it, on the host.
template <class Write>
void fill(const Context& context, const Tensor& target, const Write& write) {
  const FillPiece fill_piece = [&](const Piece&, const Tensor& values) { write(values); };
  fill_from_host(context, Piece::whole(target.shape()), target, fill_piece, target.bytes());
}

/// Writes input where this rank gives some, and erases earlier results.
void lay_out(const Context& context, const Problem& problem, int rank, const Workspace::Views& views) {
  if (!traits(problem.operation).has_data()) return;
  fill(context, views.out, fill_poison);
  if (traits(problem.operation).gives(rank == problem.root))
    fill(context, views.in, [&](const Tensor& in) { fill_input(problem, rank, in); });
}

std::int64_t check_once(const Context& context, const Problem& problem, int rank,
                        const Workspace::Views& views, const CollectiveCall& call) {
  lay_out(context, problem, rank, views);
  call();
  const OperationTraits& operation = traits(problem.operation);
  const bool gets = operation.gets(rank == problem.root);
  if (!gets && operation.to_root) return 0;
  const HostMirror result(context, gets ? views.out : views.in);
  return count_wrong(problem, rank, result.tensor());
}

}  // namespace

Workspace::Workspace(const Context& context, std::int64_t max_bytes)
    : context_(context),
      first_(context.device(), std::max(least_bytes, static_cast<std::size_t>(max_bytes))),
      second_(context.device(), std::max(least_bytes, static_cast<std::size_t>(max_bytes))) {
  for (const Buffer* buffer : {&first_, &second_})
    fill(context, Tensor(*buffer, DType::u8, {static_cast<std::int64_t>(buffer->bytes())}), fill_poison);
}

Workspace::Views Workspace::views(const Problem& problem, bool in_place, int rank, int in_place_part) {
  const Tensor first(first_, problem.dtype, {problem.numel});
  const Tensor second(second_, problem.dtype, {problem.numel});
  if (!in_place) return {first.flat(0, problem.in_count()), second.flat(0, problem.out_count())};
  const OperationTraits& operation = traits(problem.operation);
  if (operation.in == comm::Extent::part)
    return {second.flat(problem.in_begin(rank), problem.in_count()), second};
  if (operation.out == comm::Extent::part)
    return {first, first.flat(in_place_part * problem.part(), problem.part())};
  return {second, second};
}

OwnTiming measure_own(const Context& context, const Problem& problem, int rank, const Workspace::Views& views,
                      const CollectiveCall& call, const CollectiveCall& begin,
                      const MeasureSettings& settings) {
  lay_out(context, problem, rank, views);
  for (std::int64_t i = 0; i < settings.warmup; ++i) call();
  OwnTiming own{.seconds = time_calls(call, begin, settings.iterations)};
  if (!traits(problem.operation).has_data()) return own;
  for (std::int64_t i = 0; i < settings.checks; ++i)
    own.wrong += check_once(context, problem, rank, views, call);
  return own;
}

Timing measure(comm::Communicator& group, Backend& backend, const Problem& problem, bool in_place,
               Workspace& workspace, const MeasureSettings& settings) {
  const int rank = group.rank();
  const Workspace::Views views =
      workspace.views(problem, in_place, rank, backend.in_place_part(problem.operation));
  const CollectiveCall call = backend.prepare(problem, views.in, views.out);
  const CollectiveCall barrier = backend.prepare({.operation = Operation::barrier}, {}, {});
  OwnTiming own = measure_own(workspace.context(), problem, rank, views, call, barrier, settings);
  Timing timing = over_ranks(group, own.seconds);
  if (settings.checks > 0 && traits(problem.operation).has_data()) {
    comm::all_reduce_sum(group, {&own.wrong, 1});
    timing.wrong = own.wrong;
  }
  return timing;
}

}  // namespace dt::bench
