// Writers that fail leave nothing under a final name, and their error names the file.

#include <catch2/catch.hpp>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "checkpoint/compare.hpp"
#include "checkpoint/sample.hpp"
#include "convert/export.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::TempFolder;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Calls `write` with ever more room until it succeeds; each failure must leave the folder as it was.
/// `set_limit` sets how many bytes the file system or the process may write. Returns the number of
/// failures.
int count_failures(const fs::path& folder, std::uint64_t needed,
                   const std::function<void(std::uint64_t)>& set_limit, const std::function<void()>& write,
                   ErrorKind kind) {
  int failures = 0;
  for (std::uint64_t part = 0; part < 40; ++part) {
    set_limit(needed * part / 40);
    const std::string message = test::error_of(kind, write);
    set_limit(UINT64_MAX);
    if (message.empty()) continue;
    ++failures;
    CHECK(contains(message, folder.string()));
    CHECK(entries(folder) == 0);
  }
  return failures;
}

void limit_file_size(std::uint64_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes == UINT64_MAX ? limit.rlim_max : bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

/// Writes a model by `num_writers` writers at once, a thread each.
fs::path write_model(const fs::path& folder, int num_writers = 1, std::int64_t step = 10) {
  model::ModelSpec spec = test::tiny_gpt2();
  spec.hidden = 64;
  spec.vocabulary = 1000;
  spec.mlp_hidden = 256;
  spec.head_dim = 32;
  Manifest manifest = test::sample_manifest(step);
  manifest.model = spec;
  const test::Pieces pieces = test::model_pieces(spec);
  if (num_writers == 1) return test::write_checkpoint(folder, manifest, pieces.list);
  return test::write_by(num_writers, folder, manifest, pieces.list);
}

TEST_CASE("a write beyond the file-size limit leaves nothing") {
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  const TempFolder folder;
  const TempFolder good;
  const Reader reader(write_model(good.path()));
  const std::uint64_t bytes = reader.manifest().files[0].bytes;
  const auto limited = [&](const std::function<void()>& write) {
    return count_failures(folder.path(), bytes, limit_file_size, write, ErrorKind::environment);
  };
  CHECK(limited([&] { write_model(folder.path()); }) == 40);
  CHECK(limited([&] { convert::export_hf(convert::ExportSource(reader.path()), folder / "hf"); }) > 30);
  CHECK(limited([&] { convert::export_h5(convert::ExportSource(reader.path()), folder / "model.h5"); }) > 30);
  ::signal(SIGXFSZ, previous);
  CHECK(fs::exists(write_model(folder.path())));
}

TEST_CASE("one of several writers that fails leaves the checkpoints before it, and nothing else") {
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  const int num_writers = GENERATE(2, 5);
  const TempFolder folder;
  const fs::path before = write_model(folder.path(), num_writers, 5);
  std::uint64_t largest = 0;
  for (const StoredFile& file : load_manifest(before).files) largest = std::max(largest, file.bytes);
  for (std::uint64_t part = 0; part < 40; ++part) {
    limit_file_size(largest * part / 40);
    const std::string message =
        test::error_of(ErrorKind::environment, [&] { write_model(folder.path(), num_writers); });
    limit_file_size(UINT64_MAX);
    CHECK(contains(message, folder.path().string()));
    CHECK(entries(folder.path()) == 1);
  }
  ::signal(SIGXFSZ, previous);
  CHECK(verify_checkpoint(before).empty());
  CHECK(verify_checkpoint(write_model(folder.path(), num_writers)).empty());
}

TEST_CASE("a full disk leaves nothing") {
  const TempFolder folder;
  const TempFolder good;
  const fs::path small = folder / "small";
  fs::create_directory(small);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=1m") != 0) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  const Reader reader(write_model(good.path()));
  const fs::path filler = folder / "small/.filler";
  for (int kib = 600; kib < 1024; kib += 40) {
    test::write_text(filler, std::string(static_cast<std::size_t>(kib) << 10, 'x'));
    for (const auto& write :
         {std::function<void()>([&] { write_model(small); }),
          std::function<void()>([&] { write_model(small, 3); }), std::function<void()>([&] {
            convert::export_hf(convert::ExportSource(reader.path()), small / "hf");
          }),
          std::function<void()>(
              [&] { convert::export_h5(convert::ExportSource(reader.path()), small / "model.h5"); })}) {
      const std::string message = test::error_of(ErrorKind::environment, write);
      if (kib > 900) CHECK_FALSE(message.empty());
      if (message.empty()) {
        for (const char* made : {"hf", "model.h5", "step-00000010.g1"}) fs::remove_all(small / made);
      } else {
        CHECK(contains(message, "No space left"));
      }
      CHECK(entries(small) == 1);
    }
  }
  ::umount2(small.c_str(), MNT_DETACH);
}

TEST_CASE("a writer that is killed leaves a whole checkpoint or a hidden folder, never half of one") {
  const int num_writers = GENERATE(1, 3);
  const TempFolder folder;
  int whole = 0;
  for (int delay_us = 0; delay_us < 6000; delay_us += 200) {
    const fs::path place = folder / std::to_string(delay_us);
    fs::create_directory(place);
    const pid_t child = ::fork();
    if (child == 0) {
      write_model(place, num_writers);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(delay_us));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
      if (entry.path().filename().string().starts_with(".step-00000010.g1.tmp-")) continue;
      CHECK(entry.path().filename() == "step-00000010.g1");
      CHECK(verify_checkpoint(entry.path()).empty());
      ++whole;
    }
  }
  INFO(whole << " of 30 were whole");
}

TEST_CASE("writers that are processes: where one is killed nothing is committed, else all of it") {
  constexpr int num_writers = 3;
  const TempFolder folder;
  const Manifest header = test::sample_manifest();
  const test::Pieces pieces = test::model_pieces(header.model, DType::f32, {kind_weights, kind_first_moment});
  std::uint64_t all_bytes = 0;
  for (const SourcePiece& p : pieces.list) all_bytes += p.data.bytes();
  const fs::path before = test::write_small(folder.path(), 5);
  int committed = 0;
  for (int delay_us = 0; delay_us < 10'000; delay_us += 500) {
    CheckpointTransaction unfinished(folder.path(), 10, 1);
    std::vector<pid_t> children;
    for (int writer = 0; writer < num_writers; ++writer) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      write_shard(unfinished.path(), header, writer, test::share_of(pieces.list, writer, num_writers));
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(delay_us));
    ::kill(children[1], SIGKILL);
    int status = 0;
    for (const pid_t child : children) ::waitpid(child, child == children[1] ? &status : nullptr, 0);
    const std::string message = test::error_of(
        ErrorKind::environment, [&] { unfinished.commit(header, num_writers, {.timeout_s = 0}); });
    if (WIFEXITED(status)) CHECK(message == "");  // a manifest may be whole before its writer says so
    const fs::path path = folder / "step-00000010.g1";
    CHECK(fs::exists(path) == message.empty());
    if (message.empty()) {
      ++committed;
      CHECK(verify_checkpoint(path).empty());
      CHECK(stored_bytes(Reader(path).pieces()) == all_bytes);
      fs::remove_all(path);
    }
  }
  INFO(committed << " of 20 were committed");
  CHECK(verify_checkpoint(before).empty());
  CHECK(entries(folder.path()) == 1);
}

}  // namespace
}  // namespace dt::checkpoint
