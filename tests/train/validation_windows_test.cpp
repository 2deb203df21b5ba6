#include "train/evaluate/validation_windows.hpp"

#include <catch2/catch.hpp>

#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::train;

namespace {

/// Datasets of 3, 0 and 17 validation windows of 4 tokens.
struct Folders : dt_test::Folder {
  Folders() {
    make("a", 3);
    make("b", 0);
    make("c", 17);
  }
  data::Mixture mixture() const {
    return data::Mixture((*this / "a").string() + "=1," + (*this / "b").string() + "=1," +
                         (*this / "c").string() + "=1");
  }

 private:
  void make(const std::string& name, std::size_t windows) const {
    const std::size_t validation = windows == 0 ? 0 : 4 * windows + 1;
    dt_test::put(*this / (name + ".txt"), std::string(validation + 100, 'x'));
    auto options = dt_test::plain_options({*this / (name + ".txt")});
    options.val_fraction = static_cast<double>(validation) / static_cast<double>(validation + 100);
    dt_test::make(*this / name, options);
  }
};

}  // namespace

TEST_CASE("micro-batches take each window of each source once, and mix no sources") {
  const Folders folders;
  const data::Mixture mixture = folders.mixture();
  for (const std::int64_t size : {1, 2, 5, 100}) {
    const ValidationWindows windows(mixture, 4, size, {});
    CHECK(windows.total() == 20);
    std::vector<std::uint64_t> next(3);
    for (std::int64_t i = 0; i < windows.num_micro_batches(); ++i) {
      const ValidationWindows::SourceWindows source_windows = windows.micro_batch(i);
      CHECK(source_windows.first == next[source_windows.source]);
      CHECK(source_windows.count >= 1);
      CHECK(source_windows.count <= size);
      next[source_windows.source] += static_cast<std::uint64_t>(source_windows.count);
    }
    CHECK(next == std::vector<std::uint64_t>{3, 0, 17});
  }
}

TEST_CASE("windows have targets as soon as one of their tokens is one") {
  const dt_test::Folder folder;
  std::string lines;
  for (const char* role : {"bot", "user", "user", "bot"})
    lines += fmt::format("{{\"messages\": [{{\"role\": \"{}\", \"content\": \"12345678\"}}]}}\n", role);
  dt_test::put(folder / "chats.jsonl", lines);
  auto options = dt_test::plain_options({folder / "chats.jsonl"});
  options.val_fraction = 0.75;
  const auto has_some = [&](std::vector<std::string> loss_on, std::optional<std::uint64_t> max_windows) {
    options.lines.turns = data::TurnFormat{"", "", std::move(loss_on)};
    options.overwrite = true;
    dt_test::make(folder / "out", options);
    const data::Mixture mixture((folder / "out").string());
    const ValidationWindows windows(mixture, 4, 2, max_windows);
    REQUIRE(windows.total() == max_windows.value_or(5));  // windows in 24 tokens
    return has_targets(mixture, windows, 4);
  };
  CHECK(has_some({}, 1));
  CHECK(has_some({"bot"}, {}));
  CHECK(has_some({"bot"}, 4));  // the last token's label is a target
  CHECK_FALSE(has_some({"bot"}, 3));
  CHECK(has_some({"user"}, 1));
  CHECK_FALSE(has_some({}, 0));
}

TEST_CASE("where not all windows are asked for, each source gives in proportion") {
  const Folders folders;
  const data::Mixture mixture = folders.mixture();
  for (std::uint64_t most = 0; most <= 25; ++most) {
    const ValidationWindows windows(mixture, 4, 2, most);
    CHECK(windows.total() == std::min<std::uint64_t>(most, 20));
    CHECK(windows.num_windows_of(1) == 0);
    CHECK(windows.num_windows_of(0) == 3 * std::min<std::uint64_t>(most, 20) / 20);
  }
}
