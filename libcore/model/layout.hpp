#pragma once
// The layout of a model's training over ranks. All options and files that name a layout parse and
// print it here.

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

/// Ranks form axes pp × dp × cp × tp, tp fastest. Data ranks are the ranks of dp × cp at one place of
/// pp and tp, cp slowest. They hold the same parameters and sum their gradients. ZeRO `zero` divides
/// state among each `zero_group` consecutive data ranks. There are dp · cp ÷ zero_group such groups.
/// Source: Korthikanti et al. 2022 (sequence parallelism).
struct Layout {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  int zero = 0;
  int zero_group = 0;              // 0: all data ranks
  bool sequence_parallel = false;  // tp ranks divide the sequence where they do not divide features
  int cp = 1;                      // ranks that divide each sequence and pass keys and values around
  PipelineScheduleKind schedule = PipelineScheduleKind::one_f_one_b;
  int virtual_stages = 1;  // ranges of units on each stage rank; with zero-bubble, 2 is the V-shaped schedule
  StageUnits stages{};     // empty for even_stages()

  bool operator==(const Layout&) const = default;
  int size() const { return pp * dp * cp * tp; }
  int data_ranks() const { return dp * cp; }
  int data_rank(const MeshCoordinates& place) const { return place.cp * dp + place.dp; }
  /// Errors: internal if there is no such rank.
  MeshCoordinates coordinates_of(int rank) const;
  int group_size() const { return zero_group == 0 ? data_ranks() : zero_group; }
  /// Return how many ranks hold the same shard, as ZeRO, pp and tp divide the model, and the index
  /// of a place among these ranks.
  int num_replicas() const { return zero == 0 ? data_ranks() : data_ranks() / group_size(); }
  int replica_of(const MeshCoordinates& place) const {
    return zero == 0 ? data_rank(place) : data_rank(place) / group_size();
  }
  /// Returns for example "pp=1,dp=2,tp=1,zero=0". Adds settings that differ from the default:
  /// ",schedule=gpipe" and ",virtual-stages=2" after pp, ",cp=2" before tp, ",sp=on" after tp, and
  /// ",zero-group=2" at the end.
  std::string to_string() const;
};

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
