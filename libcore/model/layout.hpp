#pragma once
// How a model's training is laid over ranks: one type, one way to read it and one to print it, wherever a
// user or a file names one.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace dt::model {

/// Where a rank stands on each axis.
struct Place {
  int pp = 0;
  int dp = 0;
  int tp = 0;
  int cp = 0;
  bool operator==(const Place&) const = default;
};

/// Units [begin, end) of the decoder.
struct UnitRange {
  int begin = 0;
  int end = 0;
  bool operator==(const UnitRange&) const = default;
};

/// Of each stage, the units that it holds.
using StageUnits = std::vector<std::vector<UnitRange>>;

/// Who of a pipeline computes what when; parallel/schedules has them.
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble };
/// "1f1b"; as users and files name it.
const char* schedule_name(PipelineSchedule schedule);
/// None of that name: none.
std::optional<PipelineSchedule> parse_pipeline_schedule(const std::string& name);
/// "gpipe, 1f1b, interleaved, zero-bubble"
std::string pipeline_schedule_names();

/// Ranks form axes pp × dp × cp × tp, tp fastest. Those of dp × cp hold the same and sum their gradients, cp
/// slowest (data ranks): ZeRO `zero` divides state among `zero_group` of them in a row, which then exist
/// dp · cp ÷ zero_group times. Sequence parallelism is Korthikanti et al.'s (2022).
struct Layout {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  int zero = 0;
  int zero_group = 0;              // 0: all data ranks
  bool sequence_parallel = false;  // tp ranks divide the sequence where they do not divide features
  int cp = 1;                      // ranks divide each sequence, and pass keys and values around
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int virtual_stages = 1;  // ranges of units on each stage rank; 2 with zero-bubble: the V-shaped one
  StageUnits stages{};     // empty: even_stages

  bool operator==(const Layout&) const = default;
  int size() const { return pp * dp * cp * tp; }
  int data_ranks() const { return dp * cp; }
  int data_rank(const Place& place) const { return place.cp * dp + place.dp; }
  /// Error{internal}: there is no such rank.
  Place place_of(int rank) const;
  int group_size() const { return zero_group == 0 ? data_ranks() : zero_group; }
  /// How many ranks hold what ZeRO leaves of what pp and tp leave, and which of them a place is.
  int num_replicas() const { return zero == 0 ? data_ranks() : data_ranks() / group_size(); }
  int replica_of(const Place& place) const {
    return zero == 0 ? data_rank(place) : data_rank(place) / group_size();
  }
  /// "pp=1,dp=2,tp=1,zero=0"; ",zero-group=2" where it is not all of dp; behind pp ",schedule=gpipe" where it
  /// is not 1f1b, and ",virtual-stages=2" where it is not 1; before tp ",cp=2" where it is not 1, behind it
  /// ",sp=on" where it is.
  std::string to_string() const;
};

/// One range a stage: the first has the embedding, the last the head, and of the L blocks between, stage s
/// has ⌊sL/pp⌋ … ⌊(s+1)L/pp⌋−1. Of fewer blocks than stages and n units, stage s has units ⌊sn/pp⌋ …
/// ⌊(s+1)n/pp⌋−1.
StageUnits even_stages(int num_units, int pp);
/// How many units each range has, in the order of the model: each virtual stage's.
std::vector<int> stage_counts(const StageUnits& stages);
/// The stage that holds each unit. Error{internal}: the layout's table does not name each once.
std::vector<int> stages_of(const Layout& layout, int num_units);

/// A layout as a user writes it: "pp=2, dp=4". All errors are of kind usage and begin with `origin`.
class LayoutText {
 public:
  /// Error: what is none of `keys`, or given twice.
  LayoutText(const std::string& text, std::string origin, std::span<const char* const> keys);
  bool empty() const { return values_.empty(); }
  bool has(const std::string& key) const { return values_.contains(key); }
  /// Of a key that it has.
  const std::string& value(const std::string& key) const { return values_.at(key); }
  /// Sets what is given. Error: no number from `least` to `most`.
  template <class Integer>
  void read(const std::string& key, std::int64_t least, std::int64_t most, Integer& number) const {
    if (has(key)) number = static_cast<Integer>(read_number(key, least, most));
  }
  /// Error: neither on nor off.
  void read(const std::string& key, bool& is_on) const;
  Error error(const std::string& what, const std::string& remedy) const;

 private:
  std::int64_t read_number(const std::string& key, std::int64_t least, std::int64_t most) const;

  std::string origin_;
  std::map<std::string, std::string> values_;
};

}  // namespace dt::model
