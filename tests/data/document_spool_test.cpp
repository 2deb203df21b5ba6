#include "data/document_spool.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "base/test_folder.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::Folder;

namespace {

using Document = std::vector<std::uint32_t>;

/// Document i has i % 7 + 1 tokens and they say i.
std::vector<Document> numbered(std::size_t count) {
  std::vector<Document> documents;
  for (std::size_t i = 0; i < count; ++i)
    documents.emplace_back(i % 7 + 1, static_cast<std::uint32_t>(i % 60000));
  return documents;
}

template <class Element>
std::vector<Document> through(const std::vector<Document>& documents, const SpoolOptions& options) {
  const Folder folder;
  DocumentSpool spool(folder.path(), options);
  for (const Document& document : documents) {
    const std::size_t half = document.size() / 2;
    spool.append(std::span(document).first(half));
    spool.append(std::span(document).subspan(half));
    spool.end_document();
  }
  spool.finish();
  CHECK(spool.num_documents() == documents.size());

  std::vector<std::uint64_t> lengths;
  spool.visit([&](const SpooledDocument& d) { lengths.push_back(d.tokens); });
  std::vector<Document> out;
  spool.drain(
      [&](const SpooledDocument& d) {
        CHECK(d.tokens == lengths.at(out.size()));
        if (!out.empty()) CHECK(out.back().size() == lengths[out.size() - 1]);
        out.emplace_back();
      },
      [&](const TokenRun& run) {
        std::vector<Element> elements(run.bytes / sizeof(Element));
        run.file->read_at(run.offset, std::as_writable_bytes(std::span(elements)));
        out.back().insert(out.back().end(), elements.begin(), elements.end());
      });
  CHECK(folder.num_entries() == 0);
  return out;
}

SpoolOptions options_with(std::optional<std::uint64_t> seed) {
  SpoolOptions options;
  options.shuffle_seed = seed;
  options.buffer_bytes = 64;
  return options;
}

}  // namespace

TEST_CASE("without a seed documents keep their order, however many buckets they take") {
  const auto documents = numbered(500);
  CHECK(through<std::uint16_t>(documents, options_with(std::nullopt)) == documents);
  SpoolOptions options = options_with(std::nullopt);
  options.max_bucket_tokens = 50;
  CHECK(through<std::uint16_t>(documents, options) == documents);
  options.max_sorted_documents = 3;
  CHECK(through<std::uint16_t>(documents, options) == documents);
}

TEST_CASE("with a seed documents come in an order that only the seed decides") {
  const auto documents = numbered(5000);
  const auto shuffled = through<std::uint16_t>(documents, options_with(1));
  CHECK(shuffled != documents);
  CHECK(through<std::uint16_t>(documents, options_with(2)) != shuffled);
  SpoolOptions other_sizes = options_with(1);
  other_sizes.buffer_bytes = 4096;
  other_sizes.max_sorted_documents = 4;  // several passes over each bucket's index
  CHECK(through<std::uint16_t>(documents, other_sizes) == shuffled);
  auto sorted = shuffled;
  auto expected = documents;
  std::sort(sorted.begin(), sorted.end());
  std::sort(expected.begin(), expected.end());
  CHECK(sorted == expected);
}

TEST_CASE("large vocabularies are spooled as u32") {
  SpoolOptions options = options_with(std::nullopt);
  options.dtype = DType::u32;
  const std::vector<Document> documents = {{70000, 1}, {4000000000u}};
  CHECK(through<std::uint32_t>(documents, options) == documents);
}

TEST_CASE("a document far longer than a buffer comes back whole") {
  Document document(3000000);
  std::iota(document.begin(), document.end(), 0);
  for (std::uint32_t& token : document) token %= 65536;
  CHECK(through<std::uint16_t>({document, {1}, document}, options_with(std::nullopt)) ==
        std::vector<Document>{document, {1}, document});
}

TEST_CASE("empty documents do not exist") {
  const Folder folder;
  DocumentSpool spool(folder.path(), options_with(std::nullopt));
  spool.end_document();
  spool.append({});
  spool.end_document();
  CHECK(spool.num_documents() == 0);
}

TEST_CASE("what is dropped or said before is not read, and the rest keeps its order") {
  const bool deduplicates = GENERATE(false, true);
  const std::optional<std::uint64_t> seed = GENERATE(std::optional<std::uint64_t>(), 3);
  SpoolOptions options = options_with(seed);
  options.deduplicates = deduplicates;
  const Folder folder;
  DocumentSpool spool(folder.path(), options);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    spool.append(std::vector<std::uint32_t>(i % 5 + 1, i % 1000));
    if (i % 1000 == 7) {
      spool.drop_document();
    } else {
      spool.end_document();
    }
  }
  spool.finish();
  CHECK(spool.num_documents() == (deduplicates ? 999 : 2997));
  CHECK(spool.num_duplicates() == (deduplicates ? 1998 : 0));
  std::uint64_t documents = 0, tokens = 0, bytes = 0;
  spool.drain(
      [&](const SpooledDocument& document) {
        CHECK((!deduplicates || document.number < 999));
        ++documents;
        tokens += document.tokens;
      },
      [&](const TokenRun& run) {
        bytes += run.bytes;
        std::uint16_t first = 0;
        run.file->read_at(run.offset, std::as_writable_bytes(std::span(&first, 1)));
        CHECK(first != 7);
      });
  CHECK(documents == spool.num_documents());
  CHECK(tokens == spool.num_tokens());
  CHECK(bytes == 2 * tokens);
  CHECK(folder.num_entries() == 0);
}
