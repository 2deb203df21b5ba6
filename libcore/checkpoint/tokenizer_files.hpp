#pragma once
// Files of a model beside its weights: those of its tokenizer, its chat template and its generation
// config. In a checkpoint they are files without pieces, and the manifest holds their digests.

#include <filesystem>
#include <string>
#include <vector>

#include "base/io/permissions.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

/// Returns the names under which Hugging Face stores such files, as far as the folder has them.
std::vector<std::string> find_tokenizer_files(const fs::path& hf_folder);
/// Copies a file and syncs the copy. Returns its entry for the manifest. Limits the readers of the
/// copy to those of `from`.
/// Errors: input, environment.
StoredFile copy_tokenizer_file(const fs::path& from, const fs::path& to);

/// Returns the tokenizer files of a checkpoint.
std::vector<StoredFile> stored_tokenizer_files(const Reader& checkpoint);
/// Returns the tokenizer files except the generation config.
std::vector<std::string> tokenizer_file_names(const Reader& checkpoint);
/// Copies the tokenizer files into a folder and syncs the copies. Returns their entries for the
/// manifest.
/// Errors: input, naming the file, if a digest differs; environment.
std::vector<StoredFile> copy_tokenizer_files(const Reader& checkpoint, const fs::path& folder);
/// Copies the files of `tokenizer_folder`, if any, into an unfinished checkpoint and syncs the copies.
/// Returns their entries for the manifest. Blocks.
/// Errors: environment.
std::vector<StoredFile> add_tokenizer_files(const fs::path& tokenizer_folder, const fs::path& unfinished);

/// Returns the users that may read a checkpoint, by the modes of its files, its folder and its
/// run's folders. Files derived from the checkpoint must admit no other users.
/// Errors: environment, input.
ReadAccess read_access_of(const Reader& checkpoint);

}  // namespace dt::checkpoint
