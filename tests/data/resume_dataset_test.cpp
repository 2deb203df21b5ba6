#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "base/hdf5/hdf5_file.hpp"
#include "data/build/make_dataset.hpp"
#include "data/build/spool_file.hpp"
#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::Folder;
using dt_test::lines_in_ranges;
using dt_test::make;
using dt_test::plain_options;
using dt_test::problems_of;
using dt_test::put;

namespace {

/// Counts the entries of a folder and of the folders in it.
std::size_t num_files(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator()));
}

struct Interruption {};

/// Makes the dataset as far as `calls` calls of progress allow; returns the highest number of bytes read
/// that they reported.
std::uint64_t make_until(std::size_t calls, const fs::path& folder, const MakeOptions& options) {
  std::uint64_t bytes = 0;
  try {
    make_dataset(folder, options, [&](MakePhase phase, std::uint64_t done, std::uint64_t) {
      if (phase == MakePhase::read) bytes = std::max(bytes, done);
      if (calls-- == 0) throw Interruption();
    });
  } catch (const Interruption&) {
  }
  return bytes;
}

}  // namespace

TEST_CASE("a dataset that was interrupted anywhere, and resumed, is the one that was not") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  make(folder / "whole", options);
  const std::uint64_t bytes = fs::file_size(folder / "a.jsonl");
  options.resumes = true;
  options.threads = 2;
  // About 600 calls report chunks that were read. Then 15,000 report documents, written or already in
  // shards.
  for (const std::size_t step : {100u, 399u, 6000u}) {
    const fs::path out = folder / fmt::format("out-{}", step);
    std::uint64_t read = 0;
    std::size_t starts = 0;
    for (; !fs::exists(out); ++starts) {
      REQUIRE(starts < 100);
      read += make_until(starts < 10 ? step : 2000 * starts, out,
                         options);  // enough calls to finish at least one shard
    }
    CHECK(starts > 1);
    CHECK(read < 2 * bytes);  // no finished work is repeated, except for the ranges that had begun
    CHECK(dt_test::content(out / "dataset.json") == dt_test::content(folder / "whole/dataset.json"));
    CHECK(num_files(out) == num_files(folder / "whole"));
  }
  CHECK(folder.num_entries() == 5);
}

TEST_CASE(
    "shards that were finished before an interruption are taken where they are intact, else made anew") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  options.resumes = true;
  make_until(14'000, folder / "out", options);
  const fs::path first = folder / ".out.partial/train-00000.h5",
                 second = folder / ".out.partial/train-00001.h5";
  REQUIRE(fs::exists(second));
  const auto time = fs::last_write_time(first);
  dt_test::damage(second, static_cast<std::int64_t>(Hdf5Reader(second).info("/tokens").offset) + 120);
  make(folder / "out", options);
  CHECK(fs::last_write_time(folder / "out/train-00000.h5") == time);
  CHECK(problems_of(folder / "out").empty());
}

TEST_CASE("without asking for it nothing is left of an interruption, and a start leaves out what is") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  make_until(400, folder / "out", options);
  CHECK(folder.num_entries() == 1);
  options.resumes = true;
  make_until(400, folder / "out", options);
  REQUIRE(num_files(folder / ".out.partial") > 5);
  options.resumes = false;
  options.seed = 1;
  make(folder / "out", options);
  CHECK(folder.num_entries() == 2);
}

TEST_CASE("every name that a dataset is made with is known to a start that finds it half made") {
  const Folder folder;
  const fs::path tokenizer = folder / "tokenizer.json";
  put(tokenizer, R"({"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "</s>": 1}, "merges": []},
    "added_tokens": [{"id": 1, "content": "</s>", "special": true}]})");
  put(folder / "tokenizer_config.json", R"({"eos_token": "</s>"})");
  put(folder / "chat_template.jinja", "{{ messages }}");
  put(folder / "a", std::string(2000, 'a'));
  MakeOptions options = plain_options({folder / "a"});
  options.tokenizer = tokenizer;
  options.eos_token = "</s>";
  options.val_fraction = 0.1;
  make(folder / "out", options);
  REQUIRE(num_files(folder / "out") == 6);
  fs::rename(folder / "out", folder / ".out.partial");  // the state that a kill before the commit leaves
  make(folder / "out", options);
  CHECK(num_files(folder / "out") == 6);
  CHECK_FALSE(fs::exists(folder / ".out.partial"));
}

TEST_CASE("what is resumed with other options, another tokenizer or other inputs is refused, and stays") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  options.resumes = true;
  make_until(400, folder / "out", options);
  const std::size_t files = num_files(folder / ".out.partial");
  const auto refusal = [&] {
    const auto error = caught([&] { make(folder / "out", options); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(num_files(folder / ".out.partial") == files);
    return error.message;
  };
  options.seed = 1;
  CHECK_THAT(refusal(), Catch::Matchers::Contains("was started with seed 0, but now it is 1"));
  options.seed = 0;
  options.max_chars = 10;
  CHECK_THAT(refusal(), Catch::Matchers::Contains("was started with no max_chars, but now it is 10"));
  options.max_chars = no_chars;
  options.read.raw_type = TokenType::u32;
  CHECK_THAT(refusal(), Catch::Matchers::Contains("was started with no token_type, but now it is \"u32\""));
  options.read.raw_type.reset();
  fs::last_write_time(folder / "a.jsonl", fs::file_time_type::clock::now() + std::chrono::seconds(5));
  CHECK_THAT(refusal(), Catch::Matchers::Contains("the inputs have changed since then"));
}

TEST_CASE("one process at a time makes a dataset") {
  const Folder folder;
  const MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  bool was_refused = false;
  make_dataset(folder / "out", options, [&](MakePhase, std::uint64_t done, std::uint64_t) {
    if (done == 0 || std::exchange(was_refused, true)) return;
    const auto error = caught([&] { make(folder / "out", options); });
    CHECK(error.kind == ErrorKind::environment);
    CHECK(error.says("another process is writing"));
  });
  CHECK(was_refused);
  CHECK(problems_of(folder / "out").empty());
}

TEST_CASE("tasks make the dataset that one makes, also where some die or come late") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  make(folder / "whole", options);
  const auto task = [&](int number, std::size_t calls) {
    MakeOptions own = options;
    own.task = {number, 3};
    try {
      help_to_make_dataset(folder / "out", own, [&](auto...) {
        if (calls-- == 0) throw Interruption();
      });
    } catch (const Interruption&) {
    }
  };
  std::thread dies([&] { task(1, 30); });
  std::thread lives([&] { task(2, 1'000'000); });
  MakeOptions first = options;
  first.task = {0, 3};
  const MadeDataset made = make_dataset(folder / "out", first, [](auto...) {});
  dies.join();
  lives.join();
  CHECK(dt_test::content(folder / "out/dataset.json") == dt_test::content(folder / "whole/dataset.json"));
  CHECK(made.filtered.duplicates == 5000);
  CHECK(folder.num_entries() == 3);
}

TEST_CASE(
    "a task that would make another dataset does not help, and a spool that has gone is not made again") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  options.resumes = true;
  make_until(400, folder / "out", options);
  const std::size_t files = num_files(folder / ".out.partial");
  MakeOptions other = options;
  other.task = {1, 2};
  other.append_eos = false;
  const auto help = [&] { help_to_make_dataset(folder / "out", other, [](auto...) {}); };
  CHECK(caught(help).says(
      "this task's command differs from that of task 0 (append_eos true, but now it is false)"));
  other.step = "2.0";  // its first task has not begun this step, and will refuse it
  CHECK(caught(help).says("was started with append_eos true, but now it is false"));
  CHECK(num_files(folder / ".out.partial") == files);
  CHECK_THROWS_AS(SpoolFileWriter(folder / "gone/range-00000.spool"), Error);
  make(folder / "whole", options);
  other.append_eos = true;
  CHECK_FALSE(help_to_make_dataset(folder / "whole", other, [](auto...) {}));  // the dataset exists already
}

TEST_CASE("what is resumed with another end of documents is refused, and what is half written is left out") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  options.resumes = true;
  make_until(400, folder / "out", options);
  const std::string begun = dt_test::content(folder / ".out.partial/begun.json");
  const std::string key = "\"end_of_document\":256";
  REQUIRE(begun.find(key) != std::string::npos);
  put(folder / ".out.partial/begun.json",
      std::string(begun).replace(begun.find(key), key.size(), "\"end_of_document\":65"));
  CHECK(caught([&] { make(folder / "out", options); }).says("end_of_document 65, but now it is 256"));
  put(folder / ".out.partial/begun.json", begun);
  put(folder / ".out.partial/.begun.tmp-host-1.json", "");
  make(folder / "out", options);
  CHECK_FALSE(fs::exists(folder / "out/.begun.tmp-host-1.json"));
}

TEST_CASE("a pipe is neither shared by tasks nor resumed") {
  const Folder folder;
  MakeOptions options = plain_options({"-"});
  options.resumes = true;
  CHECK(caught([&] { make(folder / "out", options); }).says("--resume reads the inputs again"));
  options.resumes = false;
  options.task.count = 2;
  CHECK(caught([&] { make(folder / "out", options); }).says("each task reads a part of the inputs"));
  CHECK(folder.num_entries() == 0);
}

TEST_CASE("a task helps only with the command that task 0 was given") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  options.task = {1, 2};
  options.step = "7.0";
  options.helper_wait_s = 0.1;
  const auto help = [&] { return help_to_make_dataset(folder / "out", options, [](auto...) {}); };
  CHECK(caught(help).kind == ErrorKind::usage);
  CHECK(caught(help).says("task 1 waited 0 s, but task 0 has not started"));

  MakeOptions first = options;
  first.task.number = 0;
  first.seed = 5;
  first.resumes = true;
  make_until(400, folder / "out", first);
  CHECK(caught(help).kind == ErrorKind::usage);
  CHECK(caught(help).says("this task's command differs from that of task 0 (seed 5, but now it is 0)"));
  options.seed = 5;
  CHECK(help());  // does what task 0 left undone

  make(folder / "out", first);
  CHECK_FALSE(help());
  options.seed = 6;
  CHECK(caught(help).kind == ErrorKind::input);  // refused as a second run is
  options.overwrite = true;
  CHECK(caught(help).kind == ErrorKind::usage);
}
