#include "checkpoint/piece_index.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>

#include "base/numeric/digest.hpp"
#include "checkpoint/index_format.hpp"
#include "checkpoint/sample.hpp"
#include "checkpoint/written_pieces.hpp"

namespace dt::checkpoint {
namespace {

Piece interval_of(const Piece& box, std::int64_t begin, std::int64_t end) {
  Piece piece = box;
  piece.begin = begin;
  piece.end = end;
  return piece;
}

StoredPiece stored(const Piece& piece, const std::string& file = "f", const std::string& tensor = "w") {
  return {tensor, kind_weights, DType::f32, piece, file, dataset_name(kind_weights, tensor, piece, 0), {}, 0};
}

/// Returns the boxes of a tensor of [6, 8] that is halved along `dim`, with each box divided at random.
std::vector<StoredPiece> cut_along(int dim, std::mt19937& random) {
  std::vector<StoredPiece> pieces;
  for (const std::int64_t half : {0, 1}) {
    Piece box = Piece::whole({6, 8});
    box.box = dim == 0 ? Shape{3, 8} : Shape{6, 4};
    box.start[static_cast<std::size_t>(dim)] = half * box.box[dim];
    for (std::int64_t begin = 0; begin < box.box.numel();) {
      const std::int64_t end = std::min<std::int64_t>(box.box.numel(), begin + 1 + random() % 9);
      pieces.push_back(stored(interval_of(box, begin, end)));
      begin = end;
    }
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

/// Returns what writers would say of these pieces, which lie one after the other in the files that they name,
/// in the order of writers.
WrittenPieces written(std::vector<StoredPiece> pieces) {
  std::map<std::string, WriterManifest> writers;
  for (StoredPiece& piece : pieces) {
    WriterManifest& writer =
        writers.try_emplace(piece.file, WriterManifest{10, 1, 0, {{piece.file, 0, 7}}, {}}).first->second;
    piece.offset = writer.files.front().bytes;
    for (std::uint64_t at = 0; at < piece.bytes(); at += digest_block_bytes)
      piece.digests.push_back(piece.offset + at);
    writer.files.front().bytes += piece.bytes();
    writer.pieces.push_back(piece);
  }
  WrittenPieces all;
  for (const auto& [name, writer] : writers) all.add(writer);
  return all;
}

Manifest with_list(const WrittenPieces& pieces) {
  Manifest manifest = test::sample_manifest();
  manifest.files = pieces.files();
  manifest.pieces = pieces.list();
  return manifest;
}

/// A manifest with an index, and the index's bytes.
struct Indexed {
  Manifest manifest = test::sample_manifest();
  std::vector<std::byte> bytes;

  explicit Indexed(const WrittenPieces& pieces) {
    manifest.files = pieces.files();
    manifest.index = StoredFile{index_name, 0, 0};
    bytes = pieces.index_file(manifest, *manifest.index);
  }
  std::unique_ptr<const PieceIndex> open() const { return parse_pieces(manifest, bytes); }
};

std::string text_of(const StoredPiece& p) {
  return to_json(WriterManifest{0, 0, 0, {}, {p}});
}

TEST_CASE("the pieces that a read touches are found by their boxes, in a list and in an index") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const WrittenPieces all = written(cut_along(round % 2, random));
    const Manifest listed = with_list(all);
    const Indexed indexed(all);
    const std::vector<StoredPiece> others = cut_along(round / 2 % 2, random);
    const Piece& wanted = others.front().piece;
    for (const auto& index : {open_pieces(listed, {}), indexed.open()}) {
      const StoredTensor* tensor = index->find(kind_weights, "w");
      REQUIRE(tensor != nullptr);
      CHECK(index->find(kind_first_moment, "w") == nullptr);
      REQUIRE(tensor->boxes.size() == 2);
      CHECK_FALSE(any_overlap(*tensor));
      std::set<std::string> found;
      for (const StoredBox& box : tensor->boxes) {
        const auto [first, last] = index->find_intersecting(box, wanted);
        for (std::uint64_t number = first; number < last; ++number)
          found.insert(text_of(index->piece(number)));
      }
      for (const StoredPiece& piece : listed.pieces) {
        if (!intersect(piece.piece, wanted).empty()) CHECK(found.contains(text_of(piece)));
      }
      index->check();
    }
  }
}

TEST_CASE("pieces that overlap are told, within a box and between boxes") {
  const Piece whole = Piece::whole({4, 4});
  Piece corner = whole;
  corner.start = {3, 1};
  corner.box = {1, 2};
  const auto overlap = [](const std::vector<StoredPiece>& pieces) {
    Manifest manifest;
    manifest.pieces = pieces;
    return any_overlap(open_pieces(manifest, {})->tensors().at(0));
  };
  CHECK(overlap({stored(interval_of(whole, 0, 9)), stored(interval_of(whole, 8, 16))}));
  CHECK_FALSE(overlap({stored(interval_of(whole, 8, 16)), stored(interval_of(whole, 0, 8))}));
  CHECK(overlap({stored(whole), stored(interval_of(corner, 0, 2))}));
  std::vector<StoredPiece> many;
  Piece row = Piece::whole({5000});
  row.box = {1};
  row.end = 1;
  for (row.start = {0}; row.start[0] < 5000; ++row.start[0]) many.push_back(stored(row));
  CHECK(test::contains(test::error_of(ErrorKind::input, [&] { overlap(many); }), "more than 4096 boxes"));
  const Indexed twice(written({stored(interval_of(whole, 0, 9)), stored(interval_of(whole, 8, 16))}));
  CHECK(test::contains(test::error_of(ErrorKind::input, [&] { twice.open()->check(); }), "overlap"));
}

/// Returns pieces of three tensors in three files. One payload has three blocks.
std::vector<StoredPiece> some_pieces() {
  constexpr std::int64_t block = digest_block_bytes / 4;
  const Piece large = Piece::whole({4 * block});
  return {stored(Piece::whole({2, 3}), "rank-00000.h5", "b"),
          stored(interval_of(large, 0, 2 * block + 5), "rank-00000.h5", "a"),
          stored(Piece::whole({}), "rank-00001.h5", "c"),
          stored(interval_of(large, 2 * block + 5, 4 * block), "rank-00002.h5", "a")};
}

TEST_CASE("an index says what was written, also after messages between ranks") {
  const WrittenPieces all = written(some_pieces());
  const std::vector<StoredPiece> expected = all.list();
  WrittenPieces first, rest, backward;
  first.add(WriterManifest{10, 1, 0, {all.files()[0]}, {expected[0], expected[1]}});
  rest.add(WriterManifest{10, 1, 1, {all.files()[1]}, {expected[2]}});
  rest.add(WriterManifest{10, 1, 2, {all.files()[2]}, {expected[3]}});
  backward.add(rest.message());
  backward.add(first.message());
  backward.sort_files();
  first.add(rest.message());
  CHECK(first.num_pieces() == 4);
  for (const WrittenPieces* one :
       {&all, &static_cast<const WrittenPieces&>(first), &static_cast<const WrittenPieces&>(backward)}) {
    CHECK(to_json(WriterManifest{0, 0, 0, one->files(), one->list()}) ==
          to_json(WriterManifest{0, 0, 0, all.files(), expected}));
    const Indexed indexed(*one);
    CHECK(to_json(parse_manifest(to_json(indexed.manifest), "m")) == to_json(indexed.manifest));
    const auto index = indexed.open();
    index->check();
    CHECK(index->num_pieces() == 4);
    CHECK(stored_bytes(*index) == 4 * (6 + 1) + 4 * std::uint64_t{digest_block_bytes});
    std::vector<std::string> found, given;
    for (std::size_t file = 0; file < 3; ++file) {
      CHECK(index->has_pieces(file));
      for (const StoredPiece& piece : index->of_file(file)) found.push_back(text_of(piece));
    }
    for (const StoredPiece& piece : expected) given.push_back(text_of(piece));
    CHECK(found == given);
    CHECK(index->piece(index->find(kind_weights, "a")->boxes[0].first + 1).file == "rank-00002.h5");
  }
  const auto tensors = Indexed(all).open()->tensors();
  CHECK(tensors.at(0).tensor == "b");
  CHECK(tensors.at(2).global == Shape{});
}

/// Returns why an index is refused after a change of its body, which is given the digests that fit it.
std::string refusal(const std::function<void(std::vector<std::byte>&, const index_format::Layout&)>& change) {
  Indexed indexed(written(some_pieces()));
  std::vector<std::byte> body(
      indexed.bytes.begin(),
      indexed.bytes.begin() + static_cast<std::ptrdiff_t>(index_format::body_bytes(indexed.bytes.size())));
  index_format::Header header{};
  std::memcpy(&header, body.data(), sizeof header);
  change(body, index_format::Layout::of(header).value());
  indexed.bytes = seal_index(std::move(body), *indexed.manifest.index);
  return test::error_of(ErrorKind::input, [&] {
    const auto index = indexed.open();
    index->check();
    for (const StoredTensor& tensor : index->tensors()) index->for_each(tensor, [](const StoredPiece&) {});
    for (std::size_t file = 0; file < 3; ++file) index->of_file(file);
  });
}

TEST_CASE("an index that lies is refused, whatever it says") {
  using namespace index_format;
  CHECK(refusal([](auto&, const Layout&) {}).empty());
  struct Lie {
    std::function<std::uint64_t(const Layout&)> at;
    std::uint64_t value;
    std::size_t bytes;
    const char* message;
  };
  const auto header = [](std::size_t offset) {
    return [offset](const Layout&) -> std::uint64_t { return offset; };
  };
  const auto tensor = [](std::size_t offset) {
    return [offset](const Layout& l) { return l.tensors + offset; };
  };
  const auto box = [](std::size_t number, std::size_t offset) {
    return [=](const Layout& l) { return l.boxes + number * sizeof(BoxEntry) + offset; };
  };
  const auto piece = [](std::size_t number, std::size_t offset) {
    return [=](const Layout& l) { return l.pieces + number * sizeof(PieceEntry) + offset; };
  };
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  const std::vector<Lie> lies = {
      {header(0), 0, 1, "not a piece index"},
      {header(8), 2, 4, "has version 2 of the index format"},
      {header(offsetof(Header, num_files)), 4, 4, "does not match its header"},
      {header(offsetof(Header, step)), 11, 8, "belongs to step 11, generation 1; expected step 10"},
      {header(offsetof(Header, generation)), 2, 8, "belongs to step 10, generation 2"},
      {header(offsetof(Header, num_tensors)), 0xffffffff, 4, "does not match its header"},
      {header(offsetof(Header, num_pieces)), huge, 8, "does not match its header"},
      {header(offsetof(Header, num_digests)), huge / 8, 8, "does not match its header"},
      {header(offsetof(Header, name_bytes)), huge, 8, "does not match its header"},
      {tensor(offsetof(TensorEntry, name_begin)), 1000, 4, "beyond the end of its names"},
      {tensor(offsetof(TensorEntry, kind_bytes)), 0xffffffff, 4, "beyond the end of its names"},
      {tensor(offsetof(TensorEntry, dtype)), 0x7878, 8, "xx"},
      {tensor(offsetof(TensorEntry, rank)), 9, 4, "has 9 dimensions"},
      {tensor(offsetof(TensorEntry, first_box)), 1, 4, "boxes that belong to no tensor"},
      {tensor(offsetof(TensorEntry, payload_bytes)), 8, 8, "has 24 bytes of weights of b, expected 8"},
      {tensor(offsetof(TensorEntry, global)), huge, 8, "whose shape is invalid"},
      {tensor(sizeof(TensorEntry) + offsetof(TensorEntry, first_box)), 0, 4,
       "whose box range 0 to 0 is invalid"},
      {tensor(sizeof(TensorEntry) + offsetof(TensorEntry, name_begin)), 0, 4, ""},
      {box(0, offsetof(BoxEntry, first_piece)), 1, 8, "invalid box"},
      {box(1, offsetof(BoxEntry, first_piece)), huge, 8, "invalid box"},
      {box(0, offsetof(BoxEntry, start)), 1, 8, "outside the tensor's shape"},
      {box(0, offsetof(BoxEntry, extents)), std::uint64_t{1} << 62, 8, "invalid box"},
      {piece(0, offsetof(PieceEntry, begin)), huge, 8, "beyond its box"},
      {piece(0, offsetof(PieceEntry, end)), 7, 8, "beyond its box"},
      {piece(2, offsetof(PieceEntry, begin)), 0, 8, ""},
      {piece(0, offsetof(PieceEntry, offset)), huge, 8, "beyond the end of its file"},
      {piece(0, offsetof(PieceEntry, offset)), 8, 8, "share bytes of 'rank-00000.h5'"},
      {piece(1, offsetof(PieceEntry, digest)), 3, 8, "digests beyond the end of its digest table"},
      {piece(1, offsetof(PieceEntry, digest)), huge, 8, "digests beyond the end of its digest table"},
      {piece(0, offsetof(PieceEntry, box)), 1, 4, "belongs to another box"},
      {piece(0, offsetof(PieceEntry, box)), 3, 4, "belongs to no box"},
      {piece(0, offsetof(PieceEntry, file)), 3, 4, "in no listed file"},
      {piece(0, offsetof(PieceEntry, file)), 2, 4, "a piece that belongs to another"},
      {[](const Layout& l) { return l.by_file; }, 1, 4, ""},
      {[](const Layout& l) { return l.by_file; }, 4, 4, "refers to piece 4, which is beyond its 4 pieces"},
      {[](const Layout& l) { return l.file_starts; }, 1, 4, "gives file 1"},
      {[](const Layout& l) { return l.file_starts + 4; }, 0xffffffff, 4, "gives file 1"},
      {[](const Layout& l) { return l.file_starts + 12; }, 3, 4, "gives file 3"},
  };
  for (const Lie& lie : lies) {
    std::uint64_t at = 0;
    const std::string message = refusal([&](std::vector<std::byte>& body, const Layout& layout) {
      at = lie.at(layout);
      std::memcpy(body.data() + at, &lie.value, lie.bytes);
    });
    INFO("byte " << at << " as " << lie.value << ": " << message);
    CHECK_FALSE(message.empty());
    CHECK_FALSE(message.starts_with("of another kind"));
    CHECK(test::contains(message, lie.message));
  }
}

TEST_CASE("any changed byte of an index is told, and the bytes that are damaged") {
  const Indexed good(written(some_pieces()));
  for (std::size_t at = 0; at < good.bytes.size(); ++at) {
    Indexed bad = good;
    bad.bytes[at] ^= std::byte{1};
    if (test::error_of(ErrorKind::input, [&] { bad.open()->check(); }).empty()) FAIL("byte " << at);
    bad.bytes.resize(at);
    if (test::error_of(ErrorKind::input, [&] { bad.open()->check(); }).empty())
      FAIL("cut off at byte " << at);
  }
  Indexed bad = good;
  bad.bytes[100] ^= std::byte{1};
  CHECK(test::contains(test::error_of(ErrorKind::input, [&] { bad.open(); }),
                       fmt::format("pieces.index is damaged: bytes 0 to {}", good.bytes.size() - 8)));
  bad.bytes = good.bytes;
  bad.bytes.back() ^= std::byte{1};
  CHECK(
      test::contains(test::error_of(ErrorKind::input, [&] { bad.open(); }), "belongs to another checkpoint"));
}

}  // namespace
}  // namespace dt::checkpoint
