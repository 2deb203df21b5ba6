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
  /// Returns whether a line of that generation and step counts: the generation is on the lineage, and the
  /// next one on it continued from no earlier step.
  bool counts(std::int64_t generation, std::int64_t step) const;

 private:
  struct Origin {
    std::int64_t generation = 0;  // that is continued; 0: none
    std::int64_t step = 0;
  };
  std::map<std::int64_t, Origin> origins_;  // by generation
  std::int64_t last_ = 0;                   // of the starts and resumes
};

}  // namespace dt::train
