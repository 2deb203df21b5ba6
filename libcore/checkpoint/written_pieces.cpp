#include "checkpoint/written_pieces.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"
#include "checkpoint/piece_index.hpp"

namespace dt::checkpoint {

using namespace index_format;

namespace {

Extents padded(std::span<const std::int64_t> extents) {
  DT_CHECK(extents.size() <= max_tensor_dims, "a tensor has {} dimensions, too many", extents.size());
  Extents result{};
  std::ranges::copy(extents, result.begin());
  return result;
}

Shape shape_of(const Extents& extents, int rank) {
  return Shape(std::vector<std::int64_t>(extents.begin(), extents.begin() + rank));
}

/// Returns K of a dataset's name.
std::uint32_t part_of(const StoredPiece& piece) {
  std::uint32_t part = 0;
  if (const auto at = piece.dataset.rfind('@'); at != std::string::npos)
    std::from_chars(piece.dataset.data() + at + 1, piece.dataset.data() + piece.dataset.size(), part);
  const std::string expected = dataset_name(piece.kind, piece.tensor, piece.piece, part);
  if (piece.dataset != expected)
    throw input_error("{}: a piece has the dataset {}, expected {}", piece.file, piece.dataset, expected);
  return piece.piece.is_whole() ? 0 : part;
}

/// Composes the message to another rank.
class MessageWriter {
 public:
  template <class T>
  void put(const T& value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_text(std::string_view text) {
    put<std::uint64_t>(text.size());
    put_bytes(std::as_bytes(std::span(text)));
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put<std::uint64_t>(values.size());
    put_bytes(std::as_bytes(std::span(values)));
  }
  std::vector<std::byte> bytes;

 private:
  void put_bytes(std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); }
};

class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value;
    take_bytes(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  std::string take_text() {
    std::string text(take_count(1), '\0');
    take_bytes(std::as_writable_bytes(std::span(text)));
    return text;
  }
  template <class T>
  std::vector<T> take_all() {
    std::vector<T> values(take_count(sizeof(T)));
    take_bytes(std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// Returns a count of items of at least `item_bytes` that follow.
  std::size_t take_count(std::size_t item_bytes) {
    const auto count = take<std::uint64_t>();
    DT_CHECK(count <= bytes_.size() / item_bytes, "a message states {} items but has only {} bytes left",
             count, bytes_.size());
    return count;
  }

 private:
  void take_bytes(std::span<std::byte> out) {
    DT_CHECK(out.size() <= bytes_.size(), "a message ends {} bytes early", out.size() - bytes_.size());
    if (!out.empty()) std::memcpy(out.data(), bytes_.data(), out.size());
    bytes_ = bytes_.subspan(out.size());
  }
  std::span<const std::byte> bytes_;
};

/// Writes the sections of an index's body.
class BodyWriter {
 public:
  explicit BodyWriter(const Header& header) : layout_(Layout::of(header).value()), body_(layout_.end) {
    put(0, header);
  }
  const Layout& layout() const { return layout_; }
  template <class T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(body_.data() + at, &value, sizeof value);
  }
  template <class T>
  void put_all(std::uint64_t at, const std::vector<T>& values) {
    std::ranges::copy(std::as_bytes(std::span(values)), body_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::vector<std::byte> take() { return std::move(body_); }

 private:
  Layout layout_;
  std::vector<std::byte> body_;
};

}  // namespace

std::uint32_t WrittenPieces::number_of(const Tensor& tensor) {
  const auto [at, is_new] = tensor_numbers_.try_emplace(tensor, static_cast<std::uint32_t>(tensors_.size()));
  if (is_new) tensors_.push_back(tensor);
  return at->second;
}

std::uint32_t WrittenPieces::number_of(const Box& box) {
  const auto [at, is_new] = box_numbers_.try_emplace(box, static_cast<std::uint32_t>(boxes_.size()));
  if (is_new) boxes_.push_back(box);
  return at->second;
}

void WrittenPieces::append(PieceEntry entry) {
  DT_CHECK(pieces_.size() < UINT32_MAX, "a checkpoint has more pieces than its index can hold");
  pieces_.push_back(entry);
}

void WrittenPieces::add(const WriterManifest& shard) {
  const std::size_t first_file = files_.size();
  files_.insert(files_.end(), shard.files.begin(), shard.files.end());
  for (const StoredPiece& p : shard.pieces) {
    const auto file = std::ranges::find(shard.files, p.file, &StoredFile::name);
    DT_CHECK(file != shard.files.end(), "a piece is in '{}', which its writer does not list", p.file);
    const std::uint32_t tensor = number_of(Tensor{p.tensor, p.kind, p.dtype, p.piece.global});
    const std::uint32_t box = number_of(Box{tensor, padded(p.piece.start), padded(p.piece.box.dims())});
    const std::uint64_t digest = p.digests.size() == 1 ? p.digests[0] : digests_.size();
    if (p.digests.size() != 1) digests_.insert(digests_.end(), p.digests.begin(), p.digests.end());
    append({p.piece.begin, p.piece.end, p.offset, digest, box,
            static_cast<std::uint32_t>(first_file + static_cast<std::size_t>(file - shard.files.begin())),
            part_of(p), 0});
  }
}

std::vector<std::byte> WrittenPieces::message() const {
  MessageWriter out;
  out.put<std::uint64_t>(files_.size());
  for (const StoredFile& file : files_) {
    out.put_text(file.name);
    out.put(file.bytes);
    out.put(file.metadata_digest);
  }
  out.put<std::uint64_t>(tensors_.size());
  for (const Tensor& tensor : tensors_) {
    out.put_text(tensor.tensor);
    out.put_text(tensor.kind);
    out.put_text(dtype_name(tensor.dtype));
    out.put_all(tensor.global.dims());
  }
  out.put_all(boxes_);
  out.put_all(pieces_);
  out.put_all(digests_);
  return std::move(out.bytes);
}

void WrittenPieces::add(std::span<const std::byte> message) {
  MessageReader in(message);
  const auto first_file = static_cast<std::uint32_t>(files_.size());
  for (std::size_t count = in.take_count(sizeof(std::uint64_t)); count > 0; --count) {
    StoredFile& file = files_.emplace_back();
    file.name = in.take_text();
    file.bytes = in.take<std::uint64_t>();
    file.metadata_digest = in.take<std::uint64_t>();
  }
  std::vector<std::uint32_t> tensors, boxes;
  for (std::size_t count = in.take_count(sizeof(std::uint64_t)); count > 0; --count) {
    Tensor tensor;
    tensor.tensor = in.take_text();
    tensor.kind = in.take_text();
    tensor.dtype = parse_dtype(in.take_text());
    tensor.global = Shape(in.take_all<std::int64_t>());
    tensors.push_back(number_of(tensor));
  }
  for (Box box : in.take_all<Box>()) {
    box.tensor = tensors.at(box.tensor);
    boxes.push_back(number_of(box));
  }
  const auto pieces = in.take_all<PieceEntry>();
  const auto digests = in.take_all<std::uint64_t>();
  for (PieceEntry entry : pieces) {
    entry.box = boxes.at(entry.box);
    entry.file += first_file;
    if (payload_bytes(entry) > digest_block_bytes) entry.digest += digests_.size();
    append(entry);
  }
  digests_.insert(digests_.end(), digests.begin(), digests.end());
}

void WrittenPieces::sort_files() {
  std::vector<std::uint32_t> order(files_.size()), place(files_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t file) {
    return std::pair(files_[file].name.size(),
                     files_[file].name);  // rank-100000.h5 comes after rank-99999.h5
  });
  std::vector<StoredFile> sorted;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(files_[order[i]]);
  }
  files_ = std::move(sorted);
  for (PieceEntry& entry : pieces_) entry.file = place[entry.file];
  std::ranges::stable_sort(pieces_, {}, &PieceEntry::file);
}

std::uint64_t WrittenPieces::payload_bytes(const PieceEntry& entry) const {
  return static_cast<std::uint64_t>(entry.end - entry.begin) *
         dtype_bytes(tensors_[boxes_[entry.box].tensor].dtype);
}

StoredPiece WrittenPieces::piece(const PieceEntry& entry) const {
  const Box& box = boxes_[entry.box];
  const Tensor& tensor = tensors_[box.tensor];
  const int rank = tensor.global.rank();
  StoredPiece p{
      tensor.tensor,
      tensor.kind,
      tensor.dtype,
      {tensor.global, shape_of(box.start, rank).dims(), shape_of(box.extents, rank), entry.begin, entry.end},
      files_[entry.file].name,
      {},
      {},
      entry.offset};
  p.dataset = dataset_name(p.kind, p.tensor, p.piece, entry.part);
  const std::uint64_t blocks = ceil_div(p.bytes(), digest_block_bytes);
  p.digests.assign(blocks, entry.digest);
  if (blocks > 1)
    std::copy_n(digests_.begin() + static_cast<std::ptrdiff_t>(entry.digest), blocks, p.digests.begin());
  return p;
}

std::vector<StoredPiece> WrittenPieces::list() const {
  std::vector<StoredPiece> pieces;
  for (const PieceEntry& entry : pieces_) pieces.push_back(piece(entry));
  return pieces;
}

std::vector<std::uint32_t> WrittenPieces::sorted_boxes() const {
  std::vector<std::uint32_t> order(boxes_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t box) { return boxes_[box]; });
  return order;
}

std::vector<std::uint32_t> WrittenPieces::sorted_pieces(std::span<const std::uint32_t> box_order) const {
  std::vector<std::uint32_t> place(boxes_.size());  // each box's place in the order
  for (std::size_t i = 0; i < box_order.size(); ++i) place[box_order[i]] = static_cast<std::uint32_t>(i);
  std::vector<std::uint32_t> order(pieces_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t piece) {
    return std::pair(place[pieces_[piece].box], pieces_[piece].begin);
  });
  return order;
}

/// Puts the sections of an index into its body.
class WrittenPieces::IndexComposer {
 public:
  IndexComposer(const WrittenPieces& written, const Manifest& manifest)
      : written_(written),
        names_(written.tensors_),
        box_order_(written.sorted_boxes()),
        piece_order_(written.sorted_pieces(box_order_)),
        body_({magic, version, static_cast<std::uint32_t>(manifest.files.size()),
               static_cast<std::uint32_t>(written.tensors_.size()),
               static_cast<std::uint32_t>(written.boxes_.size()), written.pieces_.size(),
               written.digests_.size(), names_.text.size(), manifest.state.step, manifest.generation}),
        file_sizes_(manifest.files.size() + 1) {}

  std::vector<std::byte> compose() {
    begin_tensors();
    put_pieces();
    put_boxes();
    body_.put_all(body_.layout().tensors, tensors_);
    body_.put_all(body_.layout().names, names_.text);
    body_.put_all(body_.layout().digests, written_.digests_);
    put_files();
    return body_.take();
  }

 private:
  /// The names of tensors and kinds, each once.
  struct Names {
    explicit Names(const std::vector<Tensor>& tensors) {
      for (const Tensor& tensor : tensors) {
        for (const std::string* name : {&tensor.tensor, &tensor.kind}) {
          if (begins.try_emplace(*name, static_cast<std::uint32_t>(text.size())).second)
            text.insert(text.end(), name->begin(), name->end());
        }
      }
    }
    std::map<std::string, std::uint32_t> begins;
    std::vector<char> text;
  };

  void begin_tensors() {
    std::set<std::pair<std::string, std::string>> known;
    for (const Tensor& t : written_.tensors_) {
      if (!known.emplace(t.tensor, t.kind).second)
        throw input_error("{} of {}: its pieces differ in type or shape", t.kind, t.tensor);
      TensorEntry& entry = tensors_.emplace_back();
      entry.name_begin = names_.begins.at(t.tensor);
      entry.name_bytes = static_cast<std::uint32_t>(t.tensor.size());
      entry.kind_begin = names_.begins.at(t.kind);
      entry.kind_bytes = static_cast<std::uint32_t>(t.kind.size());
      std::ranges::copy(dtype_name(t.dtype), entry.dtype.begin());
      entry.rank = static_cast<std::uint32_t>(t.global.rank());
      entry.global = padded(t.global.dims());
    }
  }

  void put_pieces() {
    std::vector<std::uint32_t> new_numbers(box_order_.size());
    for (std::size_t i = 0; i < box_order_.size(); ++i)
      new_numbers[box_order_[i]] = static_cast<std::uint32_t>(i);
    first_pieces_.resize(box_order_.size());
    for (std::size_t i = piece_order_.size(); i-- > 0;) {
      PieceEntry entry = written_.pieces_[piece_order_[i]];
      tensors_[written_.boxes_[entry.box].tensor].payload_bytes += written_.payload_bytes(entry);
      entry.box = new_numbers[entry.box];
      first_pieces_[entry.box] = i;
      ++file_sizes_[entry.file];
      body_.put(body_.layout().pieces + i * sizeof entry, entry);
    }
  }

  void put_boxes() {
    for (std::size_t i = box_order_.size(); i-- > 0;) {
      const Box& box = written_.boxes_[box_order_[i]];
      tensors_[box.tensor].first_box = static_cast<std::uint32_t>(i);
      body_.put(body_.layout().boxes + i * sizeof(BoxEntry),
                BoxEntry{first_pieces_[i], box.start, box.extents});
    }
  }

  /// Puts the pieces' numbers by file and offset, and where each file's begin.
  void put_files() {
    std::vector<std::uint32_t> numbers(piece_order_.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    std::ranges::sort(numbers, {}, [&](std::uint32_t number) {
      const PieceEntry& entry = written_.pieces_[piece_order_[number]];
      return std::pair(entry.file, entry.offset);
    });
    body_.put_all(body_.layout().by_file, numbers);
    std::exclusive_scan(file_sizes_.begin(), file_sizes_.end(), file_sizes_.begin(), 0U);
    body_.put_all(body_.layout().file_starts, file_sizes_);
  }

  const WrittenPieces& written_;
  Names names_;
  std::vector<std::uint32_t> box_order_;    // the boxes' old numbers
  std::vector<std::uint32_t> piece_order_;  // the pieces' old numbers
  BodyWriter body_;
  std::vector<TensorEntry> tensors_;
  std::vector<std::uint64_t> first_pieces_;  // by new number of the box
  std::vector<std::uint32_t> file_sizes_;    // pieces of each file, and 0
};

std::vector<std::byte> WrittenPieces::index_file(const Manifest& manifest, StoredFile& index) const {
  return seal_index(IndexComposer(*this, manifest).compose(), index);
}

std::vector<std::byte> seal_index(std::vector<std::byte> body, StoredFile& index) {
  std::vector<std::uint64_t> digests;
  for (std::size_t begin = 0; begin < body.size(); begin += block_bytes) {
    const std::size_t count = std::min<std::size_t>(block_bytes, body.size() - begin);
    digests.push_back(digest(std::span<const std::byte>(body).subspan(begin, count)));
  }
  const std::span table = std::as_bytes(std::span(digests));
  body.insert(body.end(), table.begin(), table.end());
  index.bytes = body.size();
  index.metadata_digest = digest(table);
  return body;
}

}  // namespace dt::checkpoint
