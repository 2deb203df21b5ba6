#include "bench/report.hpp"

#include <algorithm>

namespace dt::bench {

namespace {

/// Calls visit(row, timing) for all timings of a section.
template <class Visit>
void visit_timings(const Section& section, Visit visit) {
  for (const Row& row : section.rows) {
    visit(row, row.out_of_place);
    if (row.in_place) visit(row, *row.in_place);
  }
}

bool is_plain(const std::string& argument) {
  constexpr std::string_view plain = "_-+=.,:/@%^";
  return !argument.empty() && std::all_of(argument.begin(), argument.end(), [&](unsigned char letter) {
    return std::isalnum(letter) != 0 || plain.find(static_cast<char>(letter)) != std::string_view::npos;
  });
}

}  // namespace

std::vector<std::pair<std::string, int>> count_names(const std::vector<std::string>& name_by_rank) {
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& name : name_by_rank) {
    auto count =
        std::find_if(counts.begin(), counts.end(), [&](const auto& known) { return known.first == name; });
    if (count == counts.end()) count = counts.insert(counts.end(), {name, 0});
    ++count->second;
  }
  return counts;
}

std::string shell_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    if (is_plain(argument)) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char letter : argument) line += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    line += '\'';
  }
  return line;
}

std::string environment_line(const RunDescription& run) {
  std::vector<std::string> words;
  for (const auto& [name, value] : run.environment) words.push_back(name + "=" + value);
  return shell_line(words);
}

double Row::algorithm_bandwidth(const Timing& timing) const {
  return timing.slowest_s > 0 ? static_cast<double>(problem.bytes()) / timing.slowest_s * 1e-9 : 0;
}

double Row::bus_bandwidth(const Timing& timing) const {
  return algorithm_bandwidth(timing) * traits(problem.operation).bus_factor(problem.num_ranks);
}

std::int64_t Row::wrong() const {
  return out_of_place.wrong.value_or(0) + (in_place ? in_place->wrong.value_or(0) : 0);
}

double Section::mean_bus_bandwidth() const {
  double sum = 0;
  int count = 0;
  visit_timings(*this, [&](const Row& row, const Timing& timing) {
    sum += row.bus_bandwidth(timing);
    ++count;
  });
  return count > 0 ? sum / count : 0;
}

std::int64_t Section::wrong() const {
  std::int64_t sum = 0;
  for (const Row& row : rows) sum += row.wrong();
  return sum;
}

}  // namespace dt::bench
