#pragma once
// Selects the lines of metrics.jsonl that belong to the run's current history. See FORMATS.md.

#include <cstdint>
#include <map>
#include <string>

namespace dt::train {

/// The lineage of a run's newest generation, as recorded in metrics.jsonl.
class MetricsLineage {
 public:
  /// Reads a line. The caller passes all lines in the file's order. Only lines of starts and
  /// resumes have an effect.
  void add(const std::string& line);
  /// Returns the generation that wrote a line. If the line does not name it, this is the last
  /// generation that began before the line.
  std::int64_t generation_of(const std::string& line) const;
  /// Returns whether there was a line of a start or a resume.
  bool has_starts() const { return !parents_.empty(); }
  /// Returns the generations on the lineage, each with the last step whose lines count. The next
  /// generation continued from that step or a later one. Lines of generation 0, which are before
  /// the first start, always count.
  std::map<std::int64_t, std::int64_t> last_steps() const;

 private:
  struct ParentGeneration {
    std::int64_t generation = 0;  // generation that this one continues; 0: none
    std::int64_t step = 0;
  };
  std::map<std::int64_t, ParentGeneration> parents_;  // keyed by generation
  std::int64_t last_ = 0;                             // generation of the last start or resume
};

}  // namespace dt::train
