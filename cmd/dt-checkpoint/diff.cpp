#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/text.hpp"
#include "checkpoint/compare.hpp"
#include "cmd/dt-checkpoint/options.hpp"

namespace dt::checkpoint_tool {

namespace {

using checkpoint::TensorComparison;
using Outcome = TensorComparison::Outcome;
using json = nlohmann::ordered_json;

const char* outcome_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::equal:
      return "equal";
    case Outcome::differs:
      return "differs";
    case Outcome::only_in_a:
      return "only in A";
    case Outcome::only_in_b:
      return "only in B";
    case Outcome::other_shape:
      return "other shape";
    case Outcome::other_dtype:
      return "other dtype";
  }
  return "";
}

bool has_numbers(Outcome outcome) {
  return outcome == Outcome::equal || outcome == Outcome::differs || outcome == Outcome::other_dtype;
}

void print_json(const TensorComparison& c, Console& console) {
  json object = {{"tensor", c.tensor},
                 {"kind", c.kind},
                 {"equal", c.outcome == Outcome::equal},
                 {"outcome", outcome_text(c.outcome)}};
  if (has_numbers(c.outcome)) {
    // JSON has no NaN and no infinity; both become null.
    object["max_abs"] = c.max_abs;
    object["relative_norm"] = c.relative_norm;
  }
  console.write_text(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

std::vector<std::string> cells(const TensorComparison& c) {
  if (!has_numbers(c.outcome)) return {c.tensor, c.kind, outcome_text(c.outcome), "-", "-"};
  return {c.tensor, c.kind, outcome_text(c.outcome), fmt::format("{:.6g}", c.max_abs),
          fmt::format("{:.6g}", c.relative_norm)};
}

/// Reports differences of step and data digest. Two runs saw the same data exactly when the digests
/// are equal, which is worth reporting beside the tensors.
void report_state(const checkpoint::TrainingState& a, const checkpoint::TrainingState& b, Console& console) {
  if (a.step != b.step) console.info("steps differ: {} and {}", a.step, b.step);
  if (a.data_digest != b.data_digest) {
    console.info("data digests differ: {} and {}", to_hex(a.data_digest), to_hex(b.data_digest));
  }
}

}  // namespace

int diff(const std::string& a, const std::string& b, Console& console) {
  const checkpoint::Reader reader_a(a);
  const checkpoint::Reader reader_b(b);
  std::vector<std::vector<std::string>> rows = {{"tensor", "kind", "result", "max abs diff", "rel L2 diff"}};
  std::size_t tensors = 0;
  std::size_t unequal = 0;
  {
    Progress progress = console.progress(
        "comparing",
        checkpoint::stored_bytes(reader_a.pieces()) + checkpoint::stored_bytes(reader_b.pieces()), "B");
    const auto found = [&](const TensorComparison& c) {
      ++tensors;
      if (c.outcome != Outcome::equal) ++unequal;
      if (console.json()) {
        print_json(c, console);
      } else {
        rows.push_back(cells(c));
      }
    };
    checkpoint::compare(reader_a, reader_b, found, [&](std::uint64_t bytes) { progress.advance(bytes); });
  }
  if (!console.json()) console.write_text(format_table(rows));
  report_state(reader_a.manifest().state, reader_b.manifest().state, console);
  if (unequal == 0) {
    console.info("{}{} {} equal", plural_form(tensors, "", "all "), pluralize(tensors, "tensor"),
                 plural_form(tensors, "is", "are"));
    return 0;
  }
  console.info("{} of {} {}", unequal, pluralize(tensors, "tensor"),
               plural_form(unequal, "differs", "differ"));
  return static_cast<int>(ErrorKind::verification);
}

}  // namespace dt::checkpoint_tool
