#include "checkpoint/tokenizer_files.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "model/hf/hf_config.hpp"

namespace dt::checkpoint {

namespace {

constexpr std::array names = {"tokenizer.json",
                              "tokenizer_config.json",
                              "special_tokens_map.json",
                              "added_tokens.json",
                              "vocab.json",
                              "merges.txt",
                              "vocab.txt",
                              "tokenizer.model",
                              "spiece.model",
                              "chat_template.json",
                              "chat_template.jinja",
                              model::generation_config_name};

}  // namespace

std::vector<std::string> find_tokenizer_files(const fs::path& hf_folder) {
  std::vector<std::string> found;
  for (const char* name : names) {
    if (file_exists(hf_folder / name)) found.push_back(name);
  }
  return found;
}

StoredFile copy_tokenizer_file(const fs::path& from, const fs::path& to) {
  File source = File::open_read(from);
  File target = File::create(to);
  restrict_readers(to, ReadAccess::of_file(from));
  Digester digester;
  StoredFile stored{to.filename().string(), 0, 0};
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (const std::size_t count = source.read(buffer)) {
    const auto part = std::span(buffer).first(count);
    digester.update(part);
    target.write(part);
    stored.bytes += count;
  }
  target.sync();
  target.close();
  stored.metadata_digest = digester.value();
  return stored;
}

std::vector<StoredFile> stored_tokenizer_files(const Reader& checkpoint) {
  std::vector<StoredFile> result;
  const std::vector<StoredFile>& files = checkpoint.manifest().files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!checkpoint.pieces().has_pieces(i)) result.push_back(files[i]);
  }
  return result;
}

std::vector<std::string> tokenizer_file_names(const Reader& checkpoint) {
  std::vector<std::string> result;
  for (const StoredFile& file : stored_tokenizer_files(checkpoint)) {
    if (file.name != model::generation_config_name) result.push_back(file.name);
  }
  return result;
}

std::vector<StoredFile> copy_tokenizer_files(const Reader& checkpoint, const fs::path& folder) {
  std::vector<StoredFile> tokenizer_files = stored_tokenizer_files(checkpoint);
  for (const StoredFile& file : tokenizer_files) {
    const fs::path from = checkpoint.path() / file.name;
    StoredFile copy;
    try {
      copy = copy_tokenizer_file(from, folder / file.name);
    } catch (const Error&) {
      if (is_removed(checkpoint.path())) throw removed_error(checkpoint.path());
      throw;
    }
    if (copy.metadata_digest == file.metadata_digest) continue;
    throw Error(ErrorKind::input,
                fmt::format("{} has the digest {}, expected {}", from.string(), to_hex(copy.metadata_digest),
                            to_hex(file.metadata_digest)),
                "the checkpoint is damaged: 'dt-checkpoint verify' lists all damage");
  }
  return tokenizer_files;
}

std::vector<StoredFile> add_tokenizer_files(const fs::path& tokenizer_folder, const fs::path& unfinished) {
  std::vector<StoredFile> files;
  for (const std::string& name : find_tokenizer_files(tokenizer_folder))
    files.push_back(copy_tokenizer_file(tokenizer_folder / name, unfinished / name));
  return files;
}

ReadAccess read_access_of(const Reader& checkpoint) {
  const fs::path folder = fs::absolute(without_trailing_slash(checkpoint.path()));
  ReadAccess readers = ReadAccess::of(folder);
  if (folder.parent_path().filename() == "checkpoints") {
    readers &= ReadAccess::of(folder.parent_path());
    readers &= ReadAccess::of(folder.parent_path().parent_path());
  }
  const Manifest& manifest = checkpoint.manifest();
  if (manifest.index) readers &= ReadAccess::of(folder / manifest.index->name);
  for (const StoredFile& file : manifest.files) readers &= ReadAccess::of(folder / file.name);
  return readers;
}

}  // namespace dt::checkpoint
