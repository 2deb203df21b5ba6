#pragma once
// The layout of a model's training over ranks. All options and files that name a layout parse and
// print it here.

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text/enum_names.hpp"

namespace dt::model {

/// The coordinates of a rank on each axis.
struct MeshCoordinates {
  int pp = 0;
  int dp = 0;
  int tp = 0;
  int cp = 0;
  bool operator==(const MeshCoordinates&) const = default;
};

/// Units [begin, end) of the decoder.
struct UnitRange {
  int begin = 0;
  int end = 0;
  bool operator==(const UnitRange&) const = default;
};

/// The unit ranges that each stage holds.
using StageUnits = std::vector<std::vector<UnitRange>>;

/// The order in which a pipeline's stages compute. parallel/schedule/pipeline_schedule.hpp has the
/// schedules.
enum class PipelineScheduleKind { gpipe, one_f_one_b, interleaved, zero_bubble };
constexpr auto enum_names(PipelineScheduleKind) {
  using enum PipelineScheduleKind;
  return std::to_array<EnumName<PipelineScheduleKind>>(
      {{"gpipe", gpipe}, {"1f1b", one_f_one_b}, {"interleaved", interleaved}, {"zero-bubble", zero_bubble}});
}

/// The axes that split parameters: the tensor-parallel ranks, and the ranks that divide experts.
enum class SplitAxis { tensor, expert };
/// The ranks that sum the gradients of a parameter group: all data ranks, or those with the same
/// experts.
enum class ReductionAxis { data, expert_data };
inline constexpr std::array reduction_axes{ReductionAxis::data, ReductionAxis::expert_data};

/// Ranks form axes pp × dp × cp × tp, tp fastest. Data ranks are the ranks of dp × cp at one place of
/// pp and tp, cp slowest. They hold the same parameters, except experts, and sum their gradients. ZeRO
/// `zero` divides state among each `zero_group` consecutive data ranks. There are dp · cp ÷ zero_group
/// such groups. Each `ep` consecutive data ranks divide the experts of a layer. Every ep-th data rank
/// has the same experts: these dp · cp ÷ ep ranks sum the gradients of experts, and divide their state
/// among each zero_group ÷ ep of them (among one if ep is larger).
/// Source: Korthikanti et al. 2022 (sequence parallelism); Lepikhin et al. 2020, section 3 (experts
/// divided among data ranks).
struct Layout {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  int zero = 0;
  int zero_group = 0;              // 0: all data ranks
  bool sequence_parallel = false;  // tp ranks divide the sequence where they do not divide features
  int cp = 1;                      // ranks that divide each sequence and pass keys and values around
  int ep = 1;                      // data ranks that divide the experts of each layer
  PipelineScheduleKind schedule = PipelineScheduleKind::one_f_one_b;
  int virtual_stages = 1;  // ranges of units on each stage rank; with zero-bubble, 2 is the V-shaped schedule
  StageUnits stages{};     // empty for even_stages()

  bool operator==(const Layout&) const = default;
  int size() const { return pp * dp * cp * tp; }
  int data_ranks() const { return dp * cp; }
  int data_rank(const MeshCoordinates& place) const { return place.cp * dp + place.dp; }
  /// Errors: internal if there is no such rank.
  MeshCoordinates coordinates_of(int rank) const;
  int expert_rank(const MeshCoordinates& place) const { return data_rank(place) % ep; }
  /// Return how many ranks sum the gradients of an axis, and the index of a place among these ranks.
  int reduction_ranks(ReductionAxis axis) const {
    return axis == ReductionAxis::data ? data_ranks() : data_ranks() / ep;
  }
  int reduction_rank(const MeshCoordinates& place, ReductionAxis axis) const {
    return axis == ReductionAxis::data ? data_rank(place) : data_rank(place) / ep;
  }
  /// Returns how many ranks ZeRO divides state among.
  int group_size(ReductionAxis axis = ReductionAxis::data) const;
  /// Return how many ranks hold the same shard, as ZeRO, pp, tp and ep divide the model, and the index
  /// of a place among these ranks.
  int num_replicas(ReductionAxis axis = ReductionAxis::data) const {
    return zero == 0 ? reduction_ranks(axis) : reduction_ranks(axis) / group_size(axis);
  }
  int replica_of(const MeshCoordinates& place, ReductionAxis axis = ReductionAxis::data) const {
    return zero == 0 ? reduction_rank(place, axis) : reduction_rank(place, axis) / group_size(axis);
  }
  /// Returns for example "pp=1,dp=2,tp=1,zero=0". Adds settings that differ from the default:
  /// ",schedule=gpipe" and ",virtual-stages=2" after pp, ",cp=2" and ",ep=2" before tp, ",sp=on" after
  /// tp, and ",zero-group=2" at the end.
  std::string to_string() const;
};

struct ModelSpec;
/// Returns why the experts of a model cannot be divided by `ep`, or "" if they can. The number divides
/// dp · cp, and each rank has at least one expert.
std::string expert_axis_error(const Layout& layout, const ModelSpec& spec);
std::string expert_axis_error(const Layout& layout, std::int64_t num_experts);

/// Returns one range for each stage. The first stage has the embedding, the last the head. Of the L
/// blocks between, stage s has ⌊sL/pp⌋ … ⌊(s+1)L/pp⌋−1. If there are fewer blocks than stages,
/// stage s has units ⌊sn/pp⌋ … ⌊(s+1)n/pp⌋−1 of n units.
StageUnits even_stages(int num_units, int pp);
/// Returns the number of units of each range (each virtual stage), in the order of the model.
std::vector<int> stage_counts(const StageUnits& stages);
/// Returns the stage that holds each unit.
/// Errors: internal if the layout's table does not name each unit once.
std::vector<int> stages_of(const Layout& layout, int num_units);

/// A layout as a user writes it: "pp=2, dp=4".
/// Errors: all errors are of kind usage and begin with `origin`.
class LayoutText {
 public:
  /// Parses the text.
  /// Errors: an item is none of `keys`, or is given twice.
  LayoutText(const std::string& text, std::string origin, std::span<const char* const> keys);
  bool empty() const { return values_.empty(); }
  bool has(const std::string& key) const { return values_.contains(key); }
  /// Returns the text of a key that is present.
  const std::string& value(const std::string& key) const { return values_.at(key); }
  /// Sets `number` if the key is present.
  /// Errors: the value is no number from `least` to `most`.
  template <class Integer>
  void read(const std::string& key, std::int64_t least, std::int64_t most, Integer& number) const {
    if (has(key)) number = static_cast<Integer>(read_number(key, least, most));
  }
  /// Sets `value` if the key is present.
  /// Errors: no value of the enum has that name.
  template <class E>
  requires std::is_enum_v<E>
  void read(const std::string& key, E& value) const {
    if (!has(key)) return;
    const std::optional<E> named = parse_name<E>(this->value(key));
    if (!named) refuse_name(key, names_of<E>());
    value = *named;
  }
  /// Sets `is_on` if the key is present.
  /// Errors: the value is neither on nor off.
  void read(const std::string& key, bool& is_on) const;
  Error error(const std::string& what, const std::string& remedy) const;

 private:
  std::int64_t read_number(const std::string& key, std::int64_t least, std::int64_t most) const;
  [[noreturn]] void refuse_name(const std::string& key, const std::vector<std::string>& names) const;

  std::string origin_;
  std::map<std::string, std::string> values_;
};

}  // namespace dt::model
