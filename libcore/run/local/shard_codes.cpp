#include "run/local/shard_codes.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/open_at.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"

namespace dt::run {

namespace {

constexpr std::size_t max_codes_bytes = std::size_t{16} << 20;

std::string hex(const Hmac& code) {
  return Secret(code).to_hex();
}

/// Writes a file as write_file_atomically() does, but no other user can open it at any time.
void write_private_file(const fs::path& path, const std::string& content) {
  const File parent = File::adopt(open_parent(path, "create"), path.parent_path());
  const std::string name = fmt::format(".{}.tmp-{}-{}", path.filename().string(), host_name(), ::getpid());
  File file = File::adopt(create_file_at(parent.descriptor(), name, path, S_IRUSR | S_IWUSR), path);
  file.write(content);
  file.sync();
  file.close();
  if (::renameat(parent.descriptor(), name.c_str(), parent.descriptor(), path.filename().c_str()) != 0)
    throw system_error(errno, "create", path.string());
  sync_directory(path.parent_path());
}

}  // namespace

fs::path shard_key_path(const RunDirectory& run) {
  return run.path() / fmt::format("local-{}.key", ::geteuid());
}

std::optional<Secret> load_shard_key(const RunDirectory& run, std::string& why) {
  const fs::path path = shard_key_path(run);
  why = fmt::format("{} is missing", path.string());
  if (!path_exists(path)) return std::nullopt;
  const File parent = File::adopt(open_parent(path, "read"), path.parent_path());
  const File file =
      File::adopt(open_file_at(parent.descriptor(), path.filename(), path, O_RDONLY, Owner::self), path);
  struct stat s {};
  if (::fstat(file.descriptor(), &s) != 0) throw system_error(errno, "stat", path.string());
  why = fmt::format("other users may read or write {}", path.string());
  if ((s.st_mode & (S_IRWXG | S_IRWXO)) != 0) return std::nullopt;
  std::string text(2 * Secret::num_bytes, '\0');
  try {
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    return Secret::from_hex(text);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    why = fmt::format("{} is damaged", path.string());
    return std::nullopt;
  }
}

Secret load_or_create_shard_key(const RunDirectory& run) {
  std::string why;
  if (const std::optional<Secret> key = load_shard_key(run, why)) return *key;
  const Secret key = Secret::generate();
  write_private_file(shard_key_path(run), key.to_hex() + "\n");
  return key;
}

std::string ShardCodes::code(const std::string& name, std::string_view content) const {
  const std::string place = fmt::format("{} {}", step_, generation_);
  return hex(
      hmac_sha256(key_, {text_bytes("dt share"), text_bytes(place), text_bytes(name), text_bytes(content)}));
}

void ShardCodes::write(const fs::path& folder, const std::vector<std::string>& names) const {
  std::string text;
  for (const std::string& name : names) {
    try {
      text += fmt::format("{}  {}\n", code(name, read_file(folder / name)), name);
    } catch (const Error& error) {
      if (error.error_number() != ENOENT) throw;  // the file belongs to a copy that broke off
    }
  }
  write_synced(folder / file_name, text);
}

void ShardCodes::load(const fs::path& shard) {
  shard_ = shard;
  codes_.clear();
  const fs::path path = shard / file_name;
  if (!path_exists(path))
    throw input_error("{} is missing, so the shard cannot be checked (older versions of dt write no codes)",
                      path.string());
  if (File::open_read(path).size() > max_codes_bytes) throw input_error("{} is too long", path.string());
  for (const std::string& line : split(read_file(path), '\n')) {
    constexpr std::size_t code_length = 2 * Secret::num_bytes;
    if (line.size() > code_length + 2) codes_[line.substr(code_length + 2)] = line.substr(0, code_length);
  }
}

void ShardCodes::check(const std::string& name, std::string_view content) const {
  const auto found = codes_.find(name);
  if (found == codes_.end())
    throw input_error("{} has no code: this run did not write it", (shard_ / name).string());
  if (!constant_time_equal(text_bytes(found->second), text_bytes(code(name, content))))
    throw input_error("{} does not match its code: it is damaged, or another run wrote it",
                      (shard_ / name).string());
}

}  // namespace dt::run
