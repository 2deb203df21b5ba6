// Verify, and a reader of everything that a resume reads, catch damage of every kind.
// DT_CORRUPTION_TRIALS sets how many random bits are flipped; the default is 150.

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/sample.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::TempFolder;

constexpr std::size_t page = 4096;

/// Reads every tensor of every kind, as a resume does.
void read_all(const fs::path& checkpoint) {
  const Reader reader(checkpoint);
  for (const StoredTensor& tensor : reader.pieces().tensors()) {
    reader.pieces().for_each(tensor, [&](const StoredPiece& stored) {
      std::vector<std::byte> values(stored.bytes());
      reader.read(stored.kind, stored.tensor, stored.piece,
                  Tensor(values.data(), stored.dtype, Shape{stored.piece.numel()}, Device::host()));
    });
  }
}

/// A checkpoint of three writers' files, each of a few dozen pages, and a checkpoint of another step of the
/// same run. The manifest lists the pieces, or there is an index of them.
class Patient {
 public:
  explicit Patient(bool has_index) {
    model::ModelSpec spec = test::tiny_gpt2();
    spec.vocabulary = 97;
    spec.hidden = 32;
    spec.head_dim = 16;
    spec.mlp_hidden = 64;
    spec.layers = 2;
    const test::Pieces pieces =
        test::model_pieces(spec, DType::f32, {kind_weights, kind_first_moment, kind_second_moment});
    for (const std::int64_t step : {10, 20}) {
      Manifest manifest = test::sample_manifest(step);
      manifest.model = spec;
      (step == 10 ? path : other) =
          test::write_by(3, folder_.path(), manifest, pieces.list, has_index ? 0 : 3);
    }
    for (const auto& entry : fs::directory_iterator(path))
      good[entry.path().filename().string()] = read_file(entry.path());
    REQUIRE(good.size() == (has_index ? 5 : 4));
    REQUIRE_FALSE(is_caught());
  }

  void write(const std::string& name, const std::string& text) const { test::write_text(path / name, text); }
  void heal() const {
    for (const auto& [name, text] : good) {
      std::error_code error;
      if (fs::file_size(path / name, error) != text.size() || read_file(path / name) != text)
        write(name, text);
    }
  }
  void flip(const std::string& name, std::size_t byte, int bit) const {
    const char flipped = static_cast<char>(good.at(name)[byte] ^ 1 << bit);
    File::open_write(path / name).write_at(byte, std::as_bytes(std::span(&flipped, 1)));
  }
  /// Returns whether verify and the reader both catch the damage; if only one does, the test fails.
  bool is_caught() const {
    const bool by_verify = !verify_checkpoint(path).empty();
    const std::string by_reader = test::error_of(ErrorKind::input, [&] { read_all(path); });
    CHECK_FALSE(contains(by_reader, "of another kind"));
    CHECK(by_verify == !by_reader.empty());
    return by_verify;
  }

  fs::path path;
  fs::path other;
  std::map<std::string, std::string> good;

 private:
  TempFolder folder_;
};

std::string sealed(const std::string& text) {
  const std::string before = text.substr(0, text.rfind("\"digest\": "));
  return fmt::format("{}\"digest\": \"{}\"\n}}\n", before, to_hex(digest(before)));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(contains(text, from));
  return text.replace(text.find(from), from.size(), to);
}

int num_trials() {
  return std::stoi(environment_variable("DT_CORRUPTION_TRIALS").value_or("150"));
}

TEST_CASE("random flipped bits of payload, metadata and manifest are all caught", "[corruption]") {
  const Patient patient(GENERATE(false, true));
  const Manifest manifest = load_manifest(patient.path);
  // Each third of the trials damages another kind of bytes, however few bytes that kind has.
  std::vector<std::pair<std::string, std::vector<ByteRange>>> kinds[3];
  const auto pieces = open_pieces(manifest, patient.path);
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const StoredFile& file = manifest.files[i];
    for (const StoredPiece& piece : pieces->of_file(i))
      kinds[0].push_back({file.name, {{piece.offset, piece.offset + piece.bytes()}}});
    kinds[1].push_back({file.name, metadata_of(file, pieces->of_file(i)).ranges});
  }
  kinds[2].push_back({manifest_name, {{0, patient.good.at(manifest_name).size()}}});
  if (manifest.index) kinds[2].push_back({index_name, {{0, manifest.index->bytes}}});
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t count) { return random() % count; };
  const int trials = num_trials();
  for (int trial = 0; trial < trials; ++trial) {
    const auto& kind = kinds[trial % 3];
    const auto& [name, ranges] = kind[below(kind.size())];
    const ByteRange& range = ranges[below(ranges.size())];
    const std::uint64_t byte = range.begin + below(range.end - range.begin);
    const int bit = static_cast<int>(below(8));
    patient.flip(name, byte, bit);
    if (!patient.is_caught()) FAIL(name << ": byte " << byte << ", bit " << bit);
    patient.heal();
  }
  CHECK_FALSE(patient.is_caught());
}

TEST_CASE("files cut off at any page, and any page of zeros, are caught", "[corruption]") {
  const Patient patient(GENERATE(false, true));
  for (const auto& [name, text] : patient.good) {
    for (std::size_t at = 0; at < text.size(); at += page) {
      INFO(name << " at byte " << at);
      patient.write(name, text.substr(0, at));
      CHECK(patient.is_caught());
      std::string blank = text;
      std::fill_n(blank.begin() + static_cast<std::ptrdiff_t>(at), std::min(page, text.size() - at), '\0');
      patient.write(name, blank);
      CHECK(patient.is_caught() == (blank != text));
      patient.write(name, text);
    }
    patient.write(name, text + '\0');
    CHECK(patient.is_caught());
    patient.heal();
  }
}

TEST_CASE("files in each other's place, of another step, missing and empty ones are caught", "[corruption]") {
  const Patient patient(GENERATE(false, true));
  for (const auto& [name, text] : patient.good) {
    for (const auto& [other_name, other_text] : patient.good) {
      if (name == other_name) continue;
      INFO(name << " and " << other_name);
      patient.write(name, other_text);
      CHECK(patient.is_caught());
      patient.write(other_name, text);
      CHECK(patient.is_caught());
      patient.heal();
    }
    INFO(name);
    // Both files hold the same tensors with the same values; only the step differs.
    fs::copy_file(patient.other / name, patient.path / name, fs::copy_options::overwrite_existing);
    CHECK(patient.is_caught());
    patient.write(name, "");
    CHECK(patient.is_caught());
    fs::remove(patient.path / name);
    CHECK(patient.is_caught());
    fs::create_directory(patient.path / name);
    CHECK(patient.is_caught());
    fs::remove(patient.path / name);
    patient.heal();
  }
  fs::remove_all(patient.path);
  fs::copy(patient.other, patient.path);
  CHECK(patient.is_caught());
}

TEST_CASE("random and absurd manifests are caught, in little memory", "[corruption]") {
  const Patient patient(false);
  const std::string& good = patient.good.at(manifest_name);
  std::vector<std::string> texts = {"",     "{",           "{}",          "[]",
                                    "null", "\"\\ud800\"", sealed("{\n"), "\xef\xbb\xbf" + good};
  std::mt19937_64 random(2);
  for (std::size_t length = 1; length < 20'000; length = length * 3 / 2 + 1) {
    std::string noise(length, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    texts.push_back(noise);
    texts.push_back(sealed(noise + "\"digest\": "));
  }
  const std::string deep(1'000'000, '[');
  const std::string shut(1'000'000, ']');
  texts.push_back(deep);
  texts.push_back("{\"schedule\": " + deep + shut + "}");
  std::map<std::string, std::string> changes;  // the key is the text that a change makes
  const auto absurd = [&](const std::string& from, const std::string& to) {
    texts.push_back(sealed(replaced(good, from, to)));
    changes[texts.back()] = to.substr(0, 60);
  };
  absurd("\"threads\":2", "\"threads\":" + deep + shut);
  absurd("\"step\":10", "\"step\":1e999");
  absurd("\"step\":10", "\"step\":-10");
  absurd("\"step\":10", "\"step\":10.5");
  absurd("\"seed\":", "\"seed\":9");
  absurd("\"bytes\":", "\"bytes\":9223372036854775807, \"was\":");
  absurd("\"bytes\":", "\"bytes\":18446744073709551615, \"was\":");
  absurd("\"bytes\":", "\"bytes\":18446744073709551616, \"was\":");
  absurd("\"offset\":", "\"offset\":18446744073709551615, \"was\":");
  absurd("\"offset\":", "\"offset\":64, \"was\":");
  absurd("\"begin\":0", "\"begin\":-9223372036854775808");
  absurd("\"begin\":0", "\"begin\":9223372036854775807");
  absurd("\"end\":", "\"end\":9223372036854775807, \"was\":");
  absurd("\"global\":[97,32]", "\"global\":[9223372036854775807,9223372036854775807]");
  absurd("\"global\":[97,32]", "\"global\":[-97,-32]");
  absurd("\"box\":[97,32]", "\"box\":[4611686018427387904,4]");
  absurd("\"start\":[0,0]", "\"start\":[]");
  absurd("\"dtype\":\"f32\"", "\"dtype\":\"i64\"");
  absurd("\"dtype\":\"f32\"", "\"dtype\":\"f4096\"");
  absurd("rank-00001.h5", "../rank-00001.h5");
  absurd("rank-00001.h5", "/dev/zero");
  absurd("\"digests\":[", "\"digests\":[\"0000000000000000\",");
  absurd("\"pieces\": [", "\"pieces\": {}, \"was\": [");
  absurd("\"files\": [", "\"files\": [], \"was\": [");
  reset_peak_resident();
  const std::uint64_t before = peak_resident_bytes();
  for (const std::string& text : texts) {
    INFO((changes.contains(text) ? changes.at(text) : text.substr(0, 100)));
    patient.write(manifest_name, text);
    CHECK(patient.is_caught());
  }
  patient.write(manifest_name, "");
  fs::resize_file(patient.path / manifest_name, std::uint64_t{1} << 40);  // a sparse file
  CHECK(patient.is_caught());
  CHECK(peak_resident_bytes() < before + (std::uint64_t{96} << 20));
  patient.heal();
  CHECK_FALSE(patient.is_caught());
}

}  // namespace
}  // namespace dt::checkpoint
