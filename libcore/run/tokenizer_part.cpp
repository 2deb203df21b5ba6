#include "run/tokenizer_part.hpp"

#include <utility>

#include "checkpoint/companions.hpp"

namespace dt::run {

int add_tokenizer_part(const RunDirectory& run, const fs::path& unfinished,
                       const checkpoint::Manifest& header, int num_parts) {
  std::vector<checkpoint::StoredFile> files;
  for (const std::string& name : checkpoint::find_companions(run.tokenizer_path()))
    files.push_back(checkpoint::copy_companion(run.tokenizer_path() / name, unfinished / name));
  if (files.empty()) return num_parts;
  checkpoint::write_companion_part(unfinished, header, num_parts, std::move(files));
  return num_parts + 1;
}

}  // namespace dt::run
