#include "parallel/schedule/drawing/drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <string_view>

#include "base/numeric/integer.hpp"
#include "base/text/text.hpp"

namespace dt::parallel {

namespace {

char letter_of(const Action& a, const PipelineSchedule& schedule) {
  if (a.kind == ActionKind::forward) return 'F';
  return a.kind == ActionKind::backward_weight && schedule.splits_backward ? 'W' : 'B';
}

/// Returns for each virtual stage how many virtual stages its rank has before it.
std::vector<int> chunks_of(const PipelineSchedule& schedule) {
  std::vector<int> chunks, of_rank(to_index(schedule.num_ranks()));
  for (const int rank : schedule.rank_of) chunks.push_back(of_rank[to_index(rank)]++);
  return chunks;
}

constexpr std::string_view fills = "-=~+:*o%";  // by virtual stage of the rank
constexpr int most_bands = 4;

/// Columns [first, first + count) of the whole drawing.
struct Band {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class TextDrawing {
 public:
  TextDrawing(const Drawing& drawing, int columns) : drawing_(drawing) {
    for (int rank = 0; rank < num_ranks(); ++rank) rows_.push_back(computation_blocks(drawing, rank));
    margin_ = name(num_ranks() - 1).size() + 2;
    width_ = std::max<std::int64_t>(columns - static_cast<std::int64_t>(margin_) - 1, 10);
    column_s_ = choose_column_s();
    num_columns_ = static_cast<std::int64_t>(std::ceil(drawing.timeline.end_s() / column_s_ - 1e-6));
    const std::int64_t bands = num_bands();
    if (bands > 1 && bands <= most_bands) width_ = ceil_div(num_columns_, bands);
  }

  std::string run() const {
    std::string text;
    const std::int64_t bands = num_bands();
    for (std::int64_t i = 0; i < bands; ++i) {
      if (bands > most_bands && i == most_bands / 2) {
        const std::int64_t next = bands - most_bands / 2;
        text += fmt::format("{:{}}… {} to {} omitted\n", "", margin_, time(i * width_), time(next * width_));
        i = next;
      }
      text += draw({i * width_, std::min(width_, num_columns_ - i * width_)});
    }
    return text + legend();
  }

 private:
  int num_ranks() const { return static_cast<int>(drawing_.lists.size()); }
  std::int64_t num_bands() const { return ceil_div(num_columns_, width_); }
  static std::string name(int rank) { return fmt::format("stage {}", rank); }
  static char fill(int chunk) { return fills[to_index(chunk) % fills.size()]; }
  std::string time(std::int64_t column) const {
    return format_short_time(std::min(static_cast<double>(column) * column_s_, drawing_.timeline.end_s()));
  }

  /// Returns the seconds of a column. A forward pass of usual length has room for the longest name,
  /// and a column to its right.
  double choose_column_s() const {
    std::vector<double> lengths_s;
    std::size_t longest = 0;
    for (const std::vector<ComputationBlock>& row : rows_) {
      for (const ComputationBlock& block : row) {
        longest = std::max(longest, block.label().size());
        if (block.letter == 'F') lengths_s.push_back(block.computing_s());
      }
    }
    const auto middle = lengths_s.begin() + static_cast<std::ptrdiff_t>(lengths_s.size() / 2);
    std::nth_element(lengths_s.begin(), middle, lengths_s.end());
    const double forward_s = lengths_s.empty() ? 0 : *middle;
    const double end_s = drawing_.timeline.end_s();
    if (forward_s > 0) return forward_s / static_cast<double>(longest + 1);
    return end_s > 0 ? end_s / static_cast<double>(width_) : 1;
  }

  std::string draw(const Band& band) const {
    const std::string begin = time(band.first), end = time(band.first + band.count);
    const auto room = static_cast<std::size_t>(band.count) -
                      std::min<std::size_t>(static_cast<std::size_t>(band.count),
                                            display_width(begin) + display_width(end));
    std::string text =
        fmt::format("{:{}}{}{:{}}{}\n", "", margin_, begin, "", std::max<std::size_t>(room, 1), end);
    for (int rank = 0; rank < num_ranks(); ++rank)
      text += fmt::format("{:<{}} |{}|\n", name(rank), margin_ - 2, cells(rows_[to_index(rank)], band));
    return text;
  }

  /// Returns the first column whose middle is not before `at_s`.
  std::int64_t column(double at_s) const {
    return static_cast<std::int64_t>(std::ceil(at_s / column_s_ - 0.5 - 1e-6));
  }

  std::string cells(const std::vector<ComputationBlock>& row, const Band& band) const {
    std::string cells(static_cast<std::size_t>(band.count), '.');
    for (const ComputationBlock& block : row) {
      Band unbroken;  // first columns that the block fills
      for (const Interval& interval : block.computing) {
        const std::int64_t begin = column(interval.start_s), end = column(interval.end_s);
        if (unbroken.count == 0) unbroken.first = begin;
        if (unbroken.first + unbroken.count == begin) unbroken.count += end - begin;
        for (std::int64_t c = std::max(begin, band.first); c < std::min(end, band.first + band.count); ++c)
          cells[static_cast<std::size_t>(c - band.first)] = fill(block.chunk);
      }
      write_name(block, band, unbroken, cells);
    }
    return cells;
  }

  /// Writes the name if there is room, else the letter.
  void write_name(const ComputationBlock& block, const Band& band, const Band& unbroken,
                  std::string& cells) const {
    const std::string label = block.label();
    const auto size = static_cast<std::int64_t>(label.size());
    std::int64_t first = unbroken.first;
    if (first < band.first && first + size > band.first) first = band.first;  // the previous band had no room
    const std::int64_t room = std::min(unbroken.first + unbroken.count, band.first + band.count) - first;
    if (first < band.first || room <= 0) return;
    const std::size_t length = size <= room ? label.size() : 1;
    cells.replace(static_cast<std::size_t>(first - band.first), length, label, 0, length);
  }

  std::string legend() const {
    const PipelineSchedule& schedule = drawing_.pipeline.schedule;
    std::string text = "F0 forward of micro-batch 0, B0 backward";
    if (schedule.splits_backward) text += ", W0 backward of its weights";
    text += ", . idle";
    const int chunks = schedule.num_stages() / schedule.num_ranks();
    for (int chunk = 0; chunks > 1 && chunk < chunks; ++chunk)
      text += fmt::format("{}{} {}", chunk == 0 ? "; virtual stage of the rank: " : ", ", fill(chunk), chunk);
    return text + "\n";
  }

  const Drawing& drawing_;
  std::vector<std::vector<ComputationBlock>> rows_;
  std::size_t margin_ = 0;
  std::int64_t width_ = 0;  // columns of a band
  double column_s_ = 0;
  std::int64_t num_columns_ = 0;
};

}  // namespace

double ComputationBlock::computing_s() const {
  double sum_s = 0;
  for (const Interval& interval : computing) sum_s += interval.duration_s();
  return sum_s;
}

std::vector<ComputationBlock> computation_blocks(const Drawing& drawing, int rank) {
  const std::vector<int> chunks = chunks_of(drawing.pipeline.schedule);
  std::vector<ComputationBlock> blocks;
  const ActionList& list = drawing.lists[to_index(rank)];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Action& a = list[i];
    if (!a.computes()) continue;
    const char letter = letter_of(a, drawing.pipeline.schedule);
    const int chunk = chunks[to_index(drawing.pipeline.stages.stage_of(a.unit))];
    const bool goes_on = !blocks.empty() && blocks.back().letter == letter &&
                         blocks.back().micro_batch == a.micro_batch && blocks.back().chunk == chunk;
    if (!goes_on) blocks.push_back({letter, a.micro_batch, chunk, {}});
    blocks.back().computing.push_back(drawing.timeline.actions[to_index(rank)][i]);
  }
  return blocks;
}

std::string format_short_time(double seconds) {
  struct Scale {
    double least_s;
    const char* unit;
  };
  static constexpr std::array scales{Scale{1, "s"}, Scale{1e-3, "ms"}, Scale{1e-6, "µs"}};
  if (seconds <= 0) return "0 s";
  const Scale& scale =
      *std::find_if(scales.begin(), scales.end() - 1, [&](const Scale& s) { return seconds >= s.least_s; });
  const double value = seconds / scale.least_s;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, scale.unit);
}

std::string draw_text(const Drawing& drawing, int columns) {
  return TextDrawing(drawing, columns).run();
}

}  // namespace dt::parallel
