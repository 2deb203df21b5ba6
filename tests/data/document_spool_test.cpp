#include "data/build/document_spool.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "base/io/atomic_files.hpp"
#include "base/test_folder.hpp"
#include "data/build/spool_writer.hpp"
#include "data/tokenizer.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::Folder;

namespace {

using Document = std::vector<std::uint32_t>;

/// Returns documents of which document i has i % 7 + 1 tokens, each of the value i.
std::vector<Document> numbered(std::size_t count) {
  std::vector<Document> documents;
  for (std::size_t i = 0; i < count; ++i)
    documents.emplace_back(i % 7 + 1, static_cast<std::uint32_t>(i % 60000));
  return documents;
}

/// Writes the documents as two ranges of the inputs, each document in two pieces, and reads them back.
template <class Element>
std::vector<Document> through(const std::vector<Document>& documents, const SpoolOptions& options,
                              int num_threads = 2) {
  const Folder folder;
  SpoolWriter writer(folder.path(), options, num_threads);
  writer.begin_range(0);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i == documents.size() / 2) {
      writer.end_range({1, 2, "first"}, {3, 4, 0}, {{"bot"}, {"user"}});
      writer.begin_range(1);
    }
    const std::size_t half = documents[i].size() / 2;
    writer.append(std::span(documents[i]).first(half));
    writer.append(std::span(documents[i]).subspan(half));
    writer.end_document();
  }
  writer.end_range({1, 1, "second"}, {1, 0, 0}, {{"tool"}, {"user"}});
  writer.finish();
  CHECK(folder.num_entries() == 2);

  const DocumentSpool spool(folder.path(), 2, sizeof(Element));
  CHECK(spool.num_documents() == documents.size());
  CHECK(spool.issues().bad_lines == 3);
  CHECK(spool.issues().first_bad_line == "first");
  CHECK(spool.filtered().too_short == 4);
  CHECK(spool.roles().learned == std::set<std::string>{"bot", "tool"});
  CHECK(spool.roles().others == std::set<std::string>{"user"});
  std::vector<Document> out;
  spool.visit([&](const SpooledDocument& d) {
    std::vector<Element> elements(d.tokens);
    CHECK(d.run.bytes == elements.size() * sizeof(Element));
    d.run.file->read_at(d.run.offset, std::as_writable_bytes(std::span(elements)));
    out.emplace_back(elements.begin(), elements.end());
  });
  return out;
}

SpoolOptions options_with(std::optional<std::uint64_t> seed) {
  SpoolOptions options;
  options.shuffle_seed = seed;
  options.segment_bytes = 64;
  return options;
}

}  // namespace

TEST_CASE("without a seed documents keep their order, however many segments they take") {
  const auto documents = numbered(500);
  CHECK(through<std::uint16_t>(documents, options_with(std::nullopt)) == documents);
  SpoolOptions options;
  CHECK(through<std::uint16_t>(documents, options) == documents);
  options.segment_documents = 3;
  CHECK(through<std::uint16_t>(documents, options, 1) == documents);
}

TEST_CASE("with a seed documents come in an order that only the seed decides") {
  const auto documents = numbered(5000);
  const auto shuffled = through<std::uint16_t>(documents, options_with(1));
  CHECK(shuffled != documents);
  CHECK(through<std::uint16_t>(documents, options_with(2)) != shuffled);
  SpoolOptions other_sizes = options_with(1);
  other_sizes.segment_bytes = 4096;
  other_sizes.segment_documents = 100;
  CHECK(through<std::uint16_t>(documents, other_sizes) == shuffled);
  CHECK(through<std::uint16_t>(documents, options_with(1), 1) == shuffled);
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

TEST_CASE("a document far longer than a segment comes back whole") {
  Document document(3000000);
  std::iota(document.begin(), document.end(), 0);
  for (std::uint32_t& token : document) token %= 65536;
  CHECK(through<std::uint16_t>({document, {1}, document}, options_with(std::nullopt)) ==
        std::vector<Document>{document, {1}, document});
}

TEST_CASE("empty documents do not exist, and a range may have none") {
  const Folder folder;
  SpoolWriter writer(folder.path(), options_with(std::nullopt), 2);
  writer.begin_range(0);
  writer.end_document();
  writer.append({});
  writer.end_document();
  writer.drop_document();
  writer.end_range({}, {});
  writer.finish();
  const DocumentSpool spool(folder.path(), 1, 2);
  CHECK(spool.num_documents() == 0);
  spool.visit([](const SpooledDocument&) { FAIL("a document"); });
}

TEST_CASE("targets are those of documents that are kept") {
  const bool keeps = GENERATE(false, true);
  const Folder folder;
  SpoolWriter writer(folder.path(), options_with(std::nullopt), 2);
  writer.begin_range(0);
  writer.append(Document{not_a_target | 1, 2});
  writer.append(Document{not_a_target | 3});
  keeps ? writer.end_document() : writer.drop_document();
  writer.append(Document{not_a_target | 1});
  writer.end_document();
  writer.end_range({}, {});
  writer.finish();
  CHECK(DocumentSpool(folder.path(), 1, 2).has_targets() == keeps);
}

TEST_CASE("what is dropped or said before is not read, and the rest keeps its order") {
  const bool deduplicates = GENERATE(false, true);
  const Folder folder;
  SpoolWriter writer(folder.path(), options_with(GENERATE(std::optional<std::uint64_t>(), 3)), 2);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    if (i % 500 == 0) {
      if (i > 0) writer.end_range({}, {});
      writer.begin_range(i / 500);
    }
    writer.append(std::vector<std::uint32_t>(i % 5 + (i % 100 == 7 ? 50 : 1), i % 1000));
    i % 1000 == 7 ? writer.drop_document() : writer.end_document();
  }
  writer.end_range({}, {});
  writer.finish();

  DocumentSpool spool(folder.path(), 6, 2);
  if (deduplicates) spool.deduplicate(folder.path());
  CHECK(spool.num_documents() == (deduplicates ? 999 : 2997));
  CHECK(spool.filtered().duplicates == (deduplicates ? 1998 : 0));
  std::uint64_t documents = 0, tokens = 0;
  spool.visit([&](const SpooledDocument& document) {
    CHECK((!deduplicates || document.run.file->path().filename() < "range-00002.spool"));
    ++documents;
    tokens += document.tokens;
    std::uint16_t first = 0;
    document.run.file->read_at(document.run.offset, std::as_writable_bytes(std::span(&first, 1)));
    CHECK(first != 7);
  });
  CHECK(documents == spool.num_documents());
  CHECK(tokens == spool.num_tokens());
}

TEST_CASE("a part that another writer was first with stays, and one that is cut off is refused") {
  const Folder folder;
  for (const std::uint32_t token : {1, 2}) {
    SpoolWriter writer(folder.path(), options_with(std::nullopt), 2);
    writer.begin_range(0);
    writer.append(std::vector<std::uint32_t>(10, token));
    writer.end_document();
    writer.end_range({}, {});
    writer.finish();
  }
  CHECK(folder.num_entries() == 1);
  const fs::path path = spool_file_path(folder.path(), 0);
  SpoolFile spooled(path);
  std::uint16_t token = 0;
  spooled.file()->read_at(0, std::as_writable_bytes(std::span(&token, 1)));
  CHECK(token == 1);
  fs::resize_file(path, fs::file_size(path) - 1);
  CHECK_THROWS_AS(SpoolFile(path), Error);
}

TEST_CASE("a part that another version wrote is told as such") {
  const Folder folder;
  const std::string text = "{}";
  const std::uint64_t trailer[] = {text.size(), digest(text)};
  const fs::path path = folder.path() / "range-00000.spool";
  write_file_atomically(path, text + std::string(reinterpret_cast<const char*>(trailer), sizeof trailer));
  CHECK_THROWS_MATCHES(SpoolFile(path), Error, Catch::Predicate<Error>([](const Error& error) {
                         return error.message().find("was written by another version of dt") !=
                                std::string::npos;
                       }));
}
