#pragma once
// Reads inputs ahead on its own thread: opens, decompresses, unpacks.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "data/input/byte_source.hpp"
#include "data/input/content.hpp"
#include "data/input/input_options.hpp"
#include "data/input/inputs.hpp"
#include "data/input/megatron_index.hpp"
#include "data/input/token_file.hpp"

namespace dt::data {

/// One document file: its name in messages ("a.tar.gz:b.txt"), and how it is read.
struct InputStream {
  std::string name;
  bool is_jsonl = false;
  std::optional<TokenType> tokens = std::nullopt;  // set if it holds token ids, not text
  bool has_documents = false;                      // for tokens: an index says where documents end
  std::uint64_t begin = 0;                         // offset in the file at which reading began, in bytes
  std::uint64_t range = 0;                         // range of the inputs that it belongs to
  bool is_raw = false;                             // for tokens: the file does not state their type
  /// Number of lines before `begin`, if that is in the middle of the file. Counted on first use.
  struct LinesBefore {
    std::once_flag counted;
    std::uint64_t count = 0;
  };
  std::shared_ptr<LinesBefore> lines_before = {};
};

/// Consecutive bytes of a stream. Block borders do not depend on how a pipe delivers.
struct InputBlock {
  std::shared_ptr<const InputStream> stream;
  std::string bytes;
  bool ends_stream = false;
  std::uint64_t file_bytes = 0;         // bytes read from (compressed) files since the previous block
  std::uint64_t invalid_sequences = 0;  // mended sequences
  std::vector<DocumentRange> parts;     // for tokens, as is the next member
  std::uint64_t first_token = 0;
};

class InputReader {
 public:
  InputReader(NextInput inputs, InputOptions options);
  /// Stops the thread at any point of the inputs.
  ~InputReader();
  InputReader(const InputReader&) = delete;

  /// Returns the next block, or nullopt at the end. `idle` is called a few times a second while
  /// there is none yet; its exceptions propagate.
  /// Errors: input for a file that cannot be opened, is damaged, has an unsupported format, or
  /// exceeds the output limit; environment for a failed read.
  std::optional<InputBlock> next(const std::function<void()>& idle);

 private:
  void work();
  void check() const;
  void count_unpacked(int depth, std::size_t bytes);
  void read_file(const InputFile& input);
  void read_stream(ByteSource& source, const std::string& name, const std::string& plain_name, int depth = 0);
  void read_archive(ByteSource& source, Content content, const std::string& name, int depth);
  class Unpacked;
  void read_documents(ByteSource& source, const std::string& name, bool is_jsonl);
  bool read_if_tokens(PeekedSource& source, const std::string& name);
  void read_megatron(const InputFile& input);
  void read_tokens(ByteSource& source, const std::string& name, TokenHead head,
                   MegatronIndex* index = nullptr);
  void push(InputBlock block);

  NextInput next_input_;
  InputOptions options_;
  InputFile input_;  // file in progress
  const FileSource* file_ = nullptr;
  std::uint64_t reported_bytes_ = 0;           // bytes of that file already reported
  std::vector<std::uint64_t> unpacked_bytes_;  // output of each layer of that file

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<InputBlock> blocks_;
  bool ended_ = false;
  std::exception_ptr failure_;  // thrown after the blocks
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace dt::data
