// A list of inputs; its names stand for files of a small folder. The list that is read says the same when
// it is read again. A list's files are those of its names, one after the other.
#include "base/io/files.hpp"
#include "data/input/inputs.hpp"
#include "fuzz/fuzz.hpp"

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// Files, among them a hidden file, a file with a pattern for a name, and one whose name ends like a line;
/// folders; links.
struct Tree : dt_fuzz::ScratchFolder {
  Tree() {
    for (const char* name : {"a", "b.jsonl", "[ab]", "b\r", "sub/x", "sub/y", "sub/.hidden", "sub/deep/z"}) {
      fs::create_directories((path() / name).parent_path());
      put(name, "text");
    }
    fs::create_directory_symlink("sub", path() / "link");
    fs::create_symlink("nowhere", path() / "dangling");
  }
};

Names names_in(const std::string& list) {
  Names names;
  dt::data::append_names(list, "fuzzed", names);
  return names;
}

void check_names(const Names& names) {
  std::string list;
  for (const std::string& name : names) {
    dt_fuzz::require(!name.empty(), "a name is something");
    list += name + "\r\n";
  }
  dt_fuzz::require(names_in(list) == names, "names are what a list of them says");
}

Names files_of(const Names& names) {
  Names files;
  dt::data::InputWalk walk(names);
  while (const auto file = walk.next()) files.push_back(file->path);
  return files;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Tree tree;
  return dt_fuzz::accepted([&] {
    Names names = names_in(std::string(dt_fuzz::text_of(bytes, size)));
    check_names(names);
    std::erase_if(names, [](const std::string& name) { return name.find("..") != name.npos; });
    if (names.size() > 100) names.resize(100);
    for (std::string& name : names) name.insert(0, tree.path().string() + "/");
    Names one_by_one;
    for (const std::string& name : names) {
      const Names files = files_of({name});
      one_by_one.insert(one_by_one.end(), files.begin(), files.end());
    }
    dt_fuzz::require(files_of(names) == one_by_one, "files come in the order of their names");
    for (const std::string& file : one_by_one) dt_fuzz::require(fs::exists(file), "a file is there");
  });
}
