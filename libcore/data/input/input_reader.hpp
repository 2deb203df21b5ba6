#pragma once
// Reads inputs ahead, on a thread of its own: opens, decompresses, unpacks.

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
#include "data/input/token_reader.hpp"
#include "data/inputs.hpp"

namespace dt::data {

/// One document file: what messages call it ("a.tar.gz:b.txt"), and how it is read.
struct InputStream {
  std::string name;
  bool is_jsonl = false;
  std::optional<TokenType> tokens = std::nullopt;  // of what is no text
  bool has_documents = false;                      // of tokens: an index says where they end
  std::uint64_t begin = 0;                         // of the file, in bytes, where reading began
  std::uint64_t range = 0;                         // of the inputs, that it belongs to
  bool is_raw = false;                             // of tokens: nothing in the file says their type
  /// Where it begins in the middle of the file: the lines before, once somebody asks.
  struct LinesBefore {
    std::once_flag counted;
    std::uint64_t count = 0;
  };
  std::shared_ptr<LinesBefore> lines_before = {};
};

/// Some bytes of a stream, in order. Where blocks end does not depend on how a pipe delivers.
struct InputBlock {
  std::shared_ptr<const InputStream> stream;
  std::string bytes;
  bool ends_stream = false;
  std::uint64_t file_bytes = 0;         // read of files since the block before: compressed ones
  std::uint64_t invalid_sequences = 0;  // mended
  std::vector<Part> parts;              // these two: of tokens
  std::uint64_t first_token = 0;
};

class InputReader {
 public:
  InputReader(NextInput inputs, InputOptions options);
  /// Ends the thread, wherever it is in the inputs.
  ~InputReader();
  InputReader(const InputReader&) = delete;

  /// The next block; nullopt at the end. `idle` is called a few times a second while there is none yet; what
  /// it throws passes through. Errors: input, what cannot be opened, is damaged, or is of a format that is
  /// not read, or becomes more than it may; environment, a failed read.
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
  InputFile input_;  // that is being read
  const FileSource* file_ = nullptr;
  std::uint64_t reported_bytes_ = 0;           // of it
  std::vector<std::uint64_t> unpacked_bytes_;  // of it: out of each layer

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<InputBlock> blocks_;
  bool ended_ = false;
  std::exception_ptr failure_;  // comes after the blocks
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace dt::data
