#include "checkpoint/indexed_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"

namespace dt::checkpoint {

using namespace index_format;

namespace {

constexpr const char* remedy = "the checkpoint is damaged: 'dt-checkpoint verify' lists all damage";

/// Opens a file of the size that the manifest says.
File open_index(const fs::path& path, std::uint64_t expected_bytes) {
  File file = File::open_read(path);
  if (const std::uint64_t bytes = file.size(); bytes != expected_bytes || bytes == 0)
    throw Error(ErrorKind::input,
                fmt::format("{} has {} bytes, expected {}", path.string(), bytes, expected_bytes), remedy);
  return file;
}

Shape shape_of(const Extents& extents, std::size_t rank) {
  return Shape(
      std::vector<std::int64_t>(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(rank)));
}

bool is_before(const Piece& a, const Piece& b) {
  return a.start != b.start ? a.start < b.start : a.box.dims() < b.box.dims();
}

}  // namespace

IndexBody::IndexBody(std::span<const std::byte> bytes, const StoredFile& expected, std::string origin,
                     const File* file)
    : all_(bytes), body_(bytes.first(body_bytes(bytes.size()))), origin_(std::move(origin)), file_(file) {
  if (bytes.size() != expected.bytes)
    throw error(fmt::format("has {} bytes, expected {}", bytes.size(), expected.bytes));
  digests_.resize(num_blocks(body_.size()));
  std::vector<std::byte> buffer;
  const std::span table = load(body_.size(), bytes.size() - body_.size(), buffer);
  if (table.size() != digests_.size() * sizeof(std::uint64_t) || body_.size() < sizeof(Header))
    throw error("is not a piece index");
  std::memcpy(digests_.data(), table.data(), table.size());
  const std::uint64_t actual = digest(std::as_bytes(std::span(digests_)));
  if (actual != expected.metadata_digest)
    throw error(fmt::format(
        "is damaged or belongs to another checkpoint: its block digests have the digest {}, expected {}",
        to_hex(actual), to_hex(expected.metadata_digest)));
  verified_ = std::make_unique<std::atomic<bool>[]>(digests_.size());
}

Error IndexBody::error(const std::string& what) const {
  return Error(ErrorKind::input, fmt::format("{} {}", origin_, what), remedy);
}

std::span<const std::byte> IndexBody::load(std::uint64_t begin, std::uint64_t count,
                                           std::vector<std::byte>& buffer) const {
  if (file_ == nullptr) return all_.subspan(begin, count);
  buffer.resize(count);
  file_->read_at(begin, buffer);
  return buffer;
}

void IndexBody::verify(std::uint64_t block) const {
  if (verified_[block].load(std::memory_order_relaxed)) return;
  const std::uint64_t begin = block * block_bytes;
  std::vector<std::byte> buffer;
  const std::span bytes = load(begin, std::min(block_bytes, body_.size() - begin), buffer);
  const std::uint64_t actual = digest(bytes);
  if (actual != digests_[block])
    throw error(fmt::format("is damaged: bytes {} to {} have the digest {}, expected {}", begin,
                            begin + bytes.size(), to_hex(actual), to_hex(digests_[block])));
  verified_[block].store(true, std::memory_order_relaxed);
}

void IndexBody::read(std::uint64_t begin, std::span<std::byte> out) const {
  DT_CHECK(begin <= body_.size() && out.size() <= body_.size() - begin, "bytes {} to {} of an index of {}",
           begin, begin + out.size(), body_.size());
  if (out.empty()) return;
  for (std::uint64_t block = begin / block_bytes; block <= (begin + out.size() - 1) / block_bytes; ++block)
    verify(block);
  std::memcpy(out.data(), body_.data() + begin, out.size());
}

IndexedPieces::IndexedPieces(const Manifest& manifest, const fs::path& path)
    : manifest_(manifest),
      file_(open_index(path, manifest.index->bytes)),
      mapped_(std::make_unique<MappedFile>(file_)),
      body_(std::make_unique<IndexBody>(mapped_->bytes(), *manifest.index, path.string(), &file_)) {
  parse();
}

IndexedPieces::IndexedPieces(const Manifest& manifest, std::vector<std::byte> file)
    : manifest_(manifest),
      memory_(std::move(file)),
      body_(std::make_unique<IndexBody>(memory_, *manifest.index, manifest.index->name)) {
  parse();
}

void IndexedPieces::parse() {
  header_ = body_->read<Header>(0);
  if (header_.magic != magic) throw body_->error("is not a piece index");
  if (header_.version != version)
    throw body_->error(
        fmt::format("has version {} of the index format, expected {}", header_.version, version));
  const auto layout = Layout::of(header_);
  if (!layout || layout->end != body_->size())
    throw body_->error(
        fmt::format("has {} bytes before its digests, which does not match its header", body_->size()));
  layout_ = *layout;
  if (header_.num_files != manifest_.files.size())
    throw body_->error(
        fmt::format("covers {} files, but the manifest lists {}", header_.num_files, manifest_.files.size()));
  if (header_.step != manifest_.state.step || header_.generation != manifest_.generation)
    throw body_->error(fmt::format("belongs to step {}, generation {}; expected step {}, generation {}",
                                   header_.step, header_.generation, manifest_.state.step,
                                   manifest_.generation));
  if ((header_.num_boxes == 0) != (header_.num_pieces == 0))
    throw body_->error(fmt::format("has {} boxes but {} pieces", header_.num_boxes, header_.num_pieces));
  std::vector<char> names(header_.name_bytes);
  body_->read(layout_.names, std::as_writable_bytes(std::span(names)));
  std::vector<TensorEntry> entries(header_.num_tensors);
  body_->read(layout_.tensors, std::as_writable_bytes(std::span(entries)));
  if (entries.empty() ? header_.num_boxes > 0 : entries.front().first_box != 0)
    throw body_->error("has boxes that belong to no tensor");
  for (std::size_t i = 0; i < entries.size(); ++i)
    parse_tensor(entries[i], i + 1 < entries.size() ? entries[i + 1].first_box : header_.num_boxes, names);
}

void IndexedPieces::parse_tensor(const TensorEntry& entry, std::uint64_t boxes_end,
                                 std::span<const char> names) {
  const auto name = [&](std::uint64_t begin, std::uint64_t bytes) {
    if (bytes == 0 || begin > names.size() || bytes > names.size() - begin)
      throw body_->error(
          fmt::format("has a name of {} bytes at offset {}, beyond the end of its names", bytes, begin));
    return std::string(names.data() + begin, bytes);
  };
  StoredTensor tensor;
  tensor.tensor = name(entry.name_begin, entry.name_bytes);
  tensor.kind = name(entry.kind_begin, entry.kind_bytes);
  const auto refuse = [&](const std::string& what) {
    return body_->error(fmt::format("has {} of {}, {}", tensor.kind, tensor.tensor, what));
  };
  tensor.dtype = parse_dtype({entry.dtype.data(), ::strnlen(entry.dtype.data(), entry.dtype.size())});
  if (entry.rank > max_tensor_dims) throw refuse(fmt::format("which has {} dimensions", entry.rank));
  tensor.global = shape_of(entry.global, entry.rank);
  if (!is_tensor_shape(tensor.global.dims())) throw refuse("whose shape is invalid");
  tensor.payload_bytes = entry.payload_bytes;
  if (boxes_end > header_.num_boxes || entry.first_box >= boxes_end ||
      boxes_end - entry.first_box > max_boxes_per_tensor)
    throw refuse(fmt::format("whose box range {} to {} is invalid", entry.first_box, boxes_end));
  for (std::uint64_t number = entry.first_box; number < boxes_end; ++number) {
    StoredBox box = parse_box(number, tensor);
    if (!tensor.boxes.empty() && !is_before(tensor.boxes.back().whole, box.whole))
      throw refuse("whose boxes are not in order");
    boxes_.push_back({tensors().size(), tensor.boxes.size()});
    tensor.boxes.push_back(std::move(box));
  }
  if (!add(std::move(tensor))) throw body_->error("lists a tensor twice");
}

StoredBox IndexedPieces::parse_box(std::uint64_t number, const StoredTensor& tensor) const {
  const auto box_entry = [&](std::uint64_t n) {
    return body_->read<BoxEntry>(layout_.boxes + n * sizeof(BoxEntry));
  };
  const BoxEntry entry = box_entry(number);
  const std::uint64_t end =
      number + 1 < header_.num_boxes ? box_entry(number + 1).first_piece : header_.num_pieces;
  const auto rank = static_cast<std::size_t>(tensor.global.rank());
  StoredBox box;
  box.whole = {tensor.global, shape_of(entry.start, rank).dims(), shape_of(entry.extents, rank), 0, 0};
  const bool is_shape = is_tensor_shape(box.whole.box.dims());
  if (is_shape) box.whole.end = box.whole.box.numel();
  if (!is_shape || entry.first_piece >= end || end > header_.num_pieces ||
      (number == 0 && entry.first_piece != 0))
    throw body_->error(
        fmt::format("has an invalid box: pieces {} to {} of {}", entry.first_piece, end, header_.num_pieces));
  try {
    box.whole.validate();
  } catch (const Error& error) {
    throw body_->error(fmt::format("has a box of {} of {}: {}", tensor.kind, tensor.tensor, error.what()));
  }
  box.first = entry.first_piece;
  box.count = end - entry.first_piece;
  return box;
}

const StoredTensor& IndexedPieces::tensor_of(const PieceEntry& entry) const {
  return tensors()[boxes_[entry.box].tensor];
}

const StoredBox& IndexedPieces::box_of(const PieceEntry& entry) const {
  return tensor_of(entry).boxes[boxes_[entry.box].box];
}

std::uint64_t IndexedPieces::payload_bytes(const PieceEntry& entry) const {
  return static_cast<std::uint64_t>(entry.end - entry.begin) * dtype_bytes(tensor_of(entry).dtype);
}

PieceEntry IndexedPieces::entry(std::uint64_t number) const {
  const auto refuse = [&](const std::string& what) {
    return body_->error(fmt::format("refers to piece {}, which {}", number, what));
  };
  if (number >= header_.num_pieces) throw refuse(fmt::format("is beyond its {} pieces", header_.num_pieces));
  const auto entry = body_->read<PieceEntry>(layout_.pieces + number * sizeof(PieceEntry));
  if (entry.box >= boxes_.size()) throw refuse("belongs to no box");
  const StoredBox& box = box_of(entry);
  if (number < box.first || number - box.first >= box.count) throw refuse("belongs to another box");
  if (entry.begin < 0 || entry.begin >= entry.end || entry.end > box.whole.end)
    throw refuse("extends beyond its box");
  if (entry.file >= manifest_.files.size()) throw refuse("is in no listed file");
  const std::uint64_t limit = manifest_.files[entry.file].bytes;
  const auto numel = static_cast<std::uint64_t>(entry.end - entry.begin);
  if (numel > limit || entry.offset > limit || payload_bytes(entry) > limit - entry.offset)
    throw refuse("extends beyond the end of its file");
  const std::uint64_t blocks = ceil_div(payload_bytes(entry), digest_block_bytes);
  if (blocks > 1 && (entry.digest > header_.num_digests || blocks > header_.num_digests - entry.digest))
    throw refuse("has digests beyond the end of its digest table");
  return entry;
}

std::pair<std::int64_t, std::int64_t> IndexedPieces::interval(std::uint64_t number) const {
  const PieceEntry e = entry(number);
  return {e.begin, e.end};
}

StoredPiece IndexedPieces::piece(std::uint64_t number) const {
  return piece_of(entry(number));
}

StoredPiece IndexedPieces::piece_of(const PieceEntry& entry) const {
  const StoredTensor& tensor = tensor_of(entry);
  StoredPiece piece{
      tensor.tensor, tensor.kind, tensor.dtype, box_of(entry).whole, manifest_.files[entry.file].name, {}, {},
      entry.offset};
  piece.piece.begin = entry.begin;
  piece.piece.end = entry.end;
  piece.dataset = dataset_name(tensor.kind, tensor.tensor, piece.piece, entry.part);
  const std::uint64_t blocks = ceil_div(piece.bytes(), digest_block_bytes);
  piece.digests.assign(blocks, entry.digest);
  if (blocks > 1)
    body_->read(layout_.digests + entry.digest * sizeof(std::uint64_t),
                std::as_writable_bytes(std::span(piece.digests)));
  return piece;
}

std::pair<std::uint32_t, std::uint32_t> IndexedPieces::range_of_file(std::size_t file) const {
  DT_CHECK(file < manifest_.files.size(), "file {} is out of range: there are {} files", file,
           manifest_.files.size());
  std::array<std::uint32_t, 2> range{};
  body_->read(layout_.file_starts + file * sizeof(std::uint32_t), std::as_writable_bytes(std::span(range)));
  if (range[0] > range[1] || range[1] > header_.num_pieces || (file == 0 && range[0] != 0) ||
      (file + 1 == manifest_.files.size() && range[1] != header_.num_pieces))
    throw body_->error(
        fmt::format("gives file {} the invalid piece range {} to {}", file + 1, range[0], range[1]));
  return {range[0], range[1]};
}

bool IndexedPieces::has_pieces(std::size_t file) const {
  const auto [begin, end] = range_of_file(file);
  return begin < end;
}

std::vector<PieceEntry> IndexedPieces::entries_of_file(std::size_t file) const {
  const auto [begin, end] = range_of_file(file);
  std::vector<PieceEntry> entries;
  std::uint64_t free_from = 0;
  for (std::uint64_t at = begin; at < end; ++at) {
    const auto number = body_->read<std::uint32_t>(layout_.by_file + at * sizeof(std::uint32_t));
    const PieceEntry e = entry(number);
    if (e.file != file)
      throw body_->error(fmt::format("gives file {} a piece that belongs to another file", file + 1));
    if (e.offset < free_from)
      throw body_->error(fmt::format("has two pieces that share bytes of '{}'", manifest_.files[file].name));
    free_from = e.offset + payload_bytes(e);
    entries.push_back(e);
  }
  return entries;
}

std::vector<StoredPiece> IndexedPieces::of_file(std::size_t file) const {
  std::vector<StoredPiece> pieces;
  for (const PieceEntry& e : entries_of_file(file)) pieces.push_back(piece_of(e));
  return pieces;
}

void IndexedPieces::check() const {
  for (const StoredTensor& tensor : tensors()) {
    std::uint64_t bytes = 0;
    for (const StoredBox& box : tensor.boxes) {
      std::int64_t free_from = 0;
      for (std::uint64_t number = box.first; number < box.first + box.count; ++number) {
        const PieceEntry e = entry(number);
        if (e.begin < free_from)
          throw body_->error(fmt::format("has pieces of {} of {} that overlap or are out of order",
                                         tensor.kind, tensor.tensor));
        free_from = e.end;
        bytes += payload_bytes(e);
      }
    }
    if (bytes != tensor.payload_bytes)
      throw body_->error(fmt::format("has {} bytes of {} of {}, expected {}", bytes, tensor.kind,
                                     tensor.tensor, tensor.payload_bytes));
  }
  // Each list is disjoint and of its file, and together they are as long as there are pieces: each piece is
  // in one.
  for (std::size_t file = 0; file < manifest_.files.size(); ++file) entries_of_file(file);
}

}  // namespace dt::checkpoint
