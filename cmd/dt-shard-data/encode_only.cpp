#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/system/signals.hpp"
#include "base/text/text.hpp"
#include "cmd/dt-shard-data/options.hpp"
#include "data/build/encode_inputs.hpp"

namespace dt::shard_data {

namespace {

/// Prints documents as lines. Holds text until flush().
class IdPrinter {
 public:
  explicit IdPrinter(Console& console) : console_(console), is_json_(console.json()) {}

  void append(std::span<const std::uint32_t> ids, bool ends_document) {
    for (const std::uint32_t id : ids) {
      begin_id();
      append_number(id);
    }
    if (!ends_document) return;
    text_ += is_json_ ? "]}\n" : "\n";
    is_at_begin_ = true;
  }
  void flush() {
    console_.write_bytes(text_);
    text_.clear();
  }

 private:
  void begin_id() {
    if (!is_at_begin_) {
      text_ += is_json_ ? ',' : ' ';
    } else if (is_json_) {
      text_ += "{\"ids\":[";
    }
    is_at_begin_ = false;
  }
  void append_number(std::uint32_t id) {
    char digits[10];
    text_.append(digits, std::to_chars(digits, digits + sizeof(digits), id).ptr);
  }

  Console& console_;
  bool is_json_;
  std::string text_;
  bool is_at_begin_ = true;  // at the start of a document
};

}  // namespace

int encode_only(const Options& options, Console& console) {
  const data::EncodeOptions encode = dataset_options(options, console);
  try {
    const StopSignals signals;
    const auto tokenizer = data::make_tokenizer(encode);
    IdPrinter printer(console);
    std::optional<Progress> bar;
    std::uint64_t known_total = 0;  // 0 while inputs are being listed
    const auto report = [&](std::uint64_t done, std::uint64_t total) {
      signals.check();
      if (!bar || total != std::exchange(known_total, total)) {
        bar.reset();
        bar.emplace(console.progress("reading", total, "B"));
      }
      bar->set(done);
      printer.flush();
    };
    const data::InputIssues issues = data::encode_inputs(
        encode, *tokenizer,
        [&](const data::DocumentTokens& tokens) { printer.append(tokens.ids, tokens.ends_document); },
        report);
    printer.flush();
    bar.reset();
    const std::string passed_over = describe_input_issues(issues, options.invalid);
    for (const std::string& line : split(trim(passed_over), '\n')) console.info("{}", line);
  } catch (const Interrupted& interrupted) {
    console.error("stopped by {}", signal_name(interrupted.signal));
    return interrupted.exit_code();
  }
  return 0;
}

}  // namespace dt::shard_data
