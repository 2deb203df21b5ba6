#pragma once
// Which lines of metrics.jsonl tell of the run's present history. See FORMATS.md.

#include <cstdint>
#include <map>
#include <string>

namespace dt::train {

/// The lineage of a run's newest generation, as metrics.jsonl tells it.
class MetricsLineage {
 public:
  /// Takes up a line; all are given in the file's order. Lines other than of starts and resumes change
  /// nothing.
  void add(const std::string& line);
  /// Returns the generation that wrote a line; of a line that does not say so, the last that began before it.
  std::int64_t generation_of(const std::string& line) const;
  /// Returns whether a start or a resume was told.
  bool is_told() const { return !origins_.empty(); }
  /// Returns the generations on the lineage, each with the last step whose lines count: the next generation
  /// continued from no earlier step. Lines of generation 0, of before the first that is told, count always.
  std::map<std::int64_t, std::int64_t> last_steps() const;

 private:
  struct Origin {
    std::int64_t generation = 0;  // that is continued; 0: none
    std::int64_t step = 0;
  };
  std::map<std::int64_t, Origin> origins_;  // by generation
  std::int64_t last_ = 0;                   // of the starts and resumes
};

}  // namespace dt::train
