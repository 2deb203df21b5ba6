#include "run/tokenizer_part.hpp"

#include <utility>

#include "checkpoint/tokenizer_files.hpp"

namespace dt::run {

int add_tokenizer_files(const RunDirectory& run, const fs::path& unfinished,
                        const checkpoint::Manifest& header, int num_writers) {
  std::vector<checkpoint::StoredFile> files;
  for (const std::string& name : checkpoint::find_tokenizer_files(run.tokenizer_path()))
    files.push_back(checkpoint::copy_tokenizer_file(run.tokenizer_path() / name, unfinished / name));
  if (files.empty()) return num_writers;
  checkpoint::write_tokenizer_manifest(unfinished, header, num_writers, std::move(files));
  return num_writers + 1;
}

}  // namespace dt::run
