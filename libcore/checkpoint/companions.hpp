#pragma once
// Files that belong to a model beside its weights: what its tokenizer consists of. In a checkpoint they are
// files without pieces; the manifest holds their digests.

#include <filesystem>
#include <string>
#include <vector>

#include "base/audience.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

/// The names that Hugging Face gives such files and that the folder holds.
std::vector<std::string> find_companions(const fs::path& hf_folder);
/// Copies a file, synced, and says how the manifest lists it. Errors: input, environment.
StoredFile copy_companion(const fs::path& from, const fs::path& to);

/// Those that a checkpoint keeps.
std::vector<StoredFile> companions_of(const Manifest& manifest);
/// The names of those that the tokenizer consists of.
std::vector<std::string> tokenizer_files_of(const Manifest& manifest);
/// Copies them, synced, into a folder, and says how the manifest lists them. Errors: input, naming the file:
/// one whose digest differs; environment.
std::vector<StoredFile> copy_companions(const Reader& checkpoint, const fs::path& folder);
/// As one more writer's part of a checkpoint that is being written, whose files hold no pieces.
void write_companion_part(const fs::path& unfinished, const Manifest& header, int writer,
                          std::vector<StoredFile> companions);

/// Returns who may read a checkpoint, by the modes of its files, its folder and its run's folders. Files made
/// of it must let nobody else read them. Errors: environment, input.
Audience readers_of(const Reader& checkpoint);

}  // namespace dt::checkpoint
