#include "checkpoint/repair.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/io/permissions.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/index_format.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/piece_index.hpp"

namespace dt::checkpoint {

namespace {

/// One of the two copies and its manifest, if that is readable.
struct CheckpointCopy {
  explicit CheckpointCopy(const fs::path& folder) : path(folder) {
    try {
      manifest = load_manifest(folder);
      text = read_file(folder / manifest_name);
    } catch (const Error& error) {
      if (!error.indicates_corruption()) throw;
      why = error.message();
    }
  }
  fs::path path;
  std::optional<Manifest> manifest;
  std::string text;  // manifest's text; its last member is the digest of the rest
  std::string why;   // reason why the manifest cannot be read
};

/// The damage of one file.
struct FileDamage {
  const StoredFile* file;
  std::string why;  // the file is missing or of another size; if "", damaged parts are mended in place
  std::vector<DigestedBytes> parts;  // the damaged parts if the file has the right size, else all parts
  std::vector<Problem> problems;
};

Error not_a_copy_error(const CheckpointCopy& replica, const std::string& what) {
  return Error(ErrorKind::input,
               fmt::format("{} is not a copy of the same checkpoint: {}", replica.path.string(), what),
               "--from expects a copy of the checkpoint that was made before the damage");
}

std::string folder_name(const fs::path& path) {
  return fs::weakly_canonical(path).filename().string();
}

/// Checks that the checkpoint's name matches the replica's manifest, since its own manifest is
/// lost.
void check_name(const CheckpointCopy& damaged, const CheckpointCopy& replica) {
  const TrainingState& state = replica.manifest->state;
  const auto name = parse_checkpoint_name(folder_name(damaged.path));
  const bool fits = name ? name->step == state.step && name->generation == replica.manifest->generation
                         : folder_name(damaged.path) == folder_name(replica.path);
  if (fits) return;
  if (name) {
    throw not_a_copy_error(
        replica,
        fmt::format("it is from step {}, generation {}, unlike the name of {}, whose manifest is damaged",
                    state.step, replica.manifest->generation, damaged.path.string()));
  }
  throw Error(
      ErrorKind::input,
      fmt::format("cannot tell whether {} is a copy of the same checkpoint: the manifest of {} is damaged",
                  replica.path.string(), damaged.path.string()),
      fmt::format("if it is, give both folders the same name, or rename the damaged one to {}",
                  checkpoint_name(state.step, replica.manifest->generation)));
}

const Manifest& choose_manifest(const CheckpointCopy& damaged, const CheckpointCopy& replica) {
  std::error_code error;
  if (fs::equivalent(damaged.path, replica.path, error))
    throw not_a_copy_error(replica, "it is the checkpoint itself");
  if (!damaged.manifest && !replica.manifest) {
    throw Error(ErrorKind::verification, fmt::format("both manifests are damaged: {}", damaged.why),
                replica.why);
  }
  if (!damaged.manifest) {
    check_name(damaged, replica);
  } else if (replica.manifest && replica.text != damaged.text) {
    const auto describe = [](const Manifest& m) {
      return fmt::format("step {}, generation {}, written {}", m.state.step, m.generation, m.created);
    };
    throw not_a_copy_error(replica, fmt::format("it is {}, and the checkpoint is {}",
                                                describe(*replica.manifest), describe(*damaged.manifest)));
  }
  return damaged.manifest ? *damaged.manifest : *replica.manifest;
}

/// Returns the bytes of the index of pieces, each block from a copy that has it whole.
/// Errors: verification if neither copy has one of them.
std::vector<std::byte> assemble_index(const StoredFile& index, const CheckpointCopy& damaged,
                                      const CheckpointCopy& replica,
                                      std::vector<std::uint64_t>& block_digests) {
  std::vector<std::byte> bytes(index.bytes);
  const auto take = [&](const DigestedBytes& part) {
    for (const CheckpointCopy* copy : {&damaged, &replica}) {
      const fs::path path = copy->path / index.name;
      if (!file_exists(path)) continue;
      const File file = File::open_read(path);
      if (!why_damaged(file, part).empty()) continue;
      const ByteRange& range = part.ranges.front();
      file.read_at(range.begin, std::span(bytes).subspan(range.begin, range.end - range.begin));
      return;
    }
    throw Error(
        ErrorKind::verification, fmt::format("{}: {} are damaged in both copies", index.name, part.what),
        "without the piece index, dt cannot tell which tensor each byte of the other files belongs to");
  };
  const std::uint64_t end = index_format::body_bytes(index.bytes);
  block_digests.resize(index_format::num_blocks(end));
  std::vector<DigestedBytes> parts = digested_bytes(index, block_digests);
  take(parts.back());  // the digests of the blocks
  std::memcpy(block_digests.data(), bytes.data() + end, bytes.size() - end);
  parts = digested_bytes(index, block_digests);
  parts.pop_back();
  std::ranges::for_each(parts, take);
  return bytes;
}

class Repairer {
 public:
  Repairer(const CheckpointCopy& damaged, const CheckpointCopy& replica,
           const std::function<void(std::uint64_t)>& done)
      : damaged_(damaged), replica_(replica), manifest_(choose_manifest(damaged, replica)), done_(done) {
    if (!manifest_.index) {
      pieces_ = open_pieces(manifest_, damaged.path);
    } else {
      pieces_ = parse_pieces(manifest_, assemble_index(*manifest_.index, damaged, replica, block_digests_));
    }
  }

  std::vector<Problem> run() {
    find_damage();
    if (!damaged_.manifest && foreign_bytes_ > sound_bytes_) {
      throw not_a_copy_error(replica_, fmt::format("most of {} does not match the manifest of the copy",
                                                   damaged_.path.string()));
    }
    for (const FileDamage& damage : damages_) repair_file(damage);
    if (!damaged_.manifest) {
      write_file_atomically(damaged_.path / manifest_name, replica_.text);
      repaired_.push_back({manifest_name, damaged_.why});
    }
    return repaired_;
  }

 private:
  void find_damage() {
    const auto find = [&](const StoredFile& file, std::vector<DigestedBytes> parts) {
      FileDamage damage = inspect(file, std::move(parts));
      if (!damage.parts.empty()) damages_.push_back(std::move(damage));
    };
    if (manifest_.index) find(*manifest_.index, digested_bytes(*manifest_.index, block_digests_));
    for (std::size_t i = 0; i < manifest_.files.size(); ++i)
      find(manifest_.files[i], digested_bytes(manifest_.files[i], pieces_->of_file(i)));
  }

  FileDamage inspect(const StoredFile& stored, std::vector<DigestedBytes> parts) {
    FileDamage damage{&stored, "", {}, {}};
    try {
      const File file = File::open_read(damaged_.path / stored.name);
      if (file.size() != stored.bytes)
        damage.why = fmt::format("has {} bytes, expected {}", file.size(), stored.bytes);
      for (const DigestedBytes& part : parts) {
        const std::string why = why_damaged(file, part);
        (why.empty() ? sound_bytes_ : foreign_bytes_) += part.bytes();
        if (!why.empty()) damage.problems.push_back({part.where, why});
        if (!why.empty()) damage.parts.push_back(part);
        if (done_) done_(part.bytes());
      }
    } catch (const Error& error) {
      if (!error.indicates_corruption()) throw;
      damage.why = error.message();
    }
    if (!damage.why.empty()) {
      damage.parts = std::move(parts);
      damage.problems = {{stored.name, damage.why}};
    }
    return damage;
  }

  void repair_file(const FileDamage& damage) {
    try {
      damage.why.empty() ? repair_in_place(damage) : replace(damage);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input)
        throw;  // the replica is damaged here, too; verification reports it
    }
  }

  /// Mends the damaged parts in place.
  /// After a crash: they stay damaged, or are partly mended.
  void repair_in_place(const FileDamage& damage) {
    const File source = File::open_read(replica_.path / damage.file->name);
    File target = File::open_write(damaged_.path / damage.file->name);
    for (std::size_t i = 0; i < damage.parts.size(); ++i) {
      if (!why_damaged(source, damage.parts[i]).empty()) continue;
      copy(source, damage.parts[i], target);
      repaired_.push_back(damage.problems[i]);
    }
    target.sync();
    target.close();
  }

  /// Writes a new file from the sound parts of both copies. It appears only when complete, because
  /// a file of the right size counts as sound until it is read.
  void replace(const FileDamage& damage) {
    AtomicFile next(damaged_.path / damage.file->name);
    for (const CheckpointCopy* copy : {&damaged_, &replica_}) {
      const fs::path path = copy->path / damage.file->name;
      if (path_exists(path)) restrict_readers(next.path(), ReadAccess::of(path));
    }
    File target = next.open();
    for (const DigestedBytes& part : damage.parts) {
      if (!copy_if_sound(replica_.path / damage.file->name, part, target) &&
          !copy_if_sound(damaged_.path / damage.file->name, part, target))
        return;
    }
    target.close();
    next.commit(true);
    repaired_.push_back(damage.problems.front());
  }

  bool copy_if_sound(const fs::path& path, const DigestedBytes& part, File& target) {
    if (!path_exists(path)) return false;
    const File source = File::open_read(path);
    if (!why_damaged(source, part).empty()) return false;
    copy(source, part, target);
    return true;
  }

  void copy(const File& source, const DigestedBytes& part, File& target) {
    std::vector<std::byte> buffer(std::size_t{1} << 20);
    for (const ByteRange& range : part.ranges) {
      for (std::uint64_t begin = range.begin; begin < range.end; begin += buffer.size()) {
        const auto bytes = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), range.end - begin));
        source.read_at(begin, bytes);
        target.write_at(begin, bytes);
        if (done_) done_(0);
      }
    }
  }

  const CheckpointCopy& damaged_;
  const CheckpointCopy& replica_;
  const Manifest& manifest_;
  const std::function<void(std::uint64_t)>& done_;
  std::vector<std::uint64_t> block_digests_;  // the index's
  std::unique_ptr<const PieceIndex> pieces_;
  std::vector<FileDamage> damages_;
  std::vector<Problem> repaired_;
  std::uint64_t sound_bytes_ = 0;    // among readable bytes of the checkpoint
  std::uint64_t foreign_bytes_ = 0;  // among readable bytes of the checkpoint
};

}  // namespace

Repair repair_checkpoint(const fs::path& checkpoint, const fs::path& replica,
                         const std::function<void(std::uint64_t)>& done) {
  const CheckpointCopy damaged(checkpoint), other(replica);
  Repair result;
  result.repaired = Repairer(damaged, other, done).run();
  result.problems = verify_checkpoint(checkpoint, done);
  return result;
}

}  // namespace dt::checkpoint
