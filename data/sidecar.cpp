#include "data/sidecar.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSmallestBlock = 64 * 1024, kMostBlocks = 4096;
constexpr int64_t kReadAtOpen = int64_t{1} << 30;

std::string absolute(const std::string& folder, const std::string& path) {
  return fs::path(path).is_absolute() ? path : folder + "/" + path;
}

int64_t modified_ns(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

std::string hex64(uint64_t value) {
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4)
    out[static_cast<size_t>(i)] = "0123456789abcdef"[value & 15];
  return out;
}

Json split_json(const SplitRecord& split) {
  Json parts = Json::array();
  for (const auto& part : split.parts)
    parts.push_back(
        {{"file", part.file}, {"first_byte", part.first_byte}, {"tokens", part.tokens}});
  return {{"tokens", split.tokens},
          {"text_bytes", split.text_bytes},
          {"documents", split.documents},
          {"digest", split.digest},
          {"parts", parts}};
}

SplitRecord read_split(const JsonObject& o) {
  SplitRecord split{o.required<int64_t>("tokens"),
                    o.required<int64_t>("text_bytes"),
                    o.required<int64_t>("documents"),
                    o.required<std::string>("digest"),
                    {}};
  o.for_each_element("parts", [&](const JsonObject& part) {
    split.parts.push_back({part.required<int64_t>("file"), part.required<int64_t>("first_byte"),
                           part.required<int64_t>("tokens")});
    part.finish();
  });
  o.finish();
  return split;
}

/// A word of a command line that a person can paste into a shell.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:=@%,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Files of a source. Of many, a person wants to see the first and how many they are.
std::string file_words(const Json& files) {
  constexpr size_t kMostNamed = 8;
  if (files.size() > kMostNamed)
    return " " + shell_word(files.front().get<std::string>()) + " ... (" +
           std::to_string(files.size()) + " files, listed in its dataset.json)";
  std::string words;
  for (const auto& file : files) words += " " + shell_word(file.get<std::string>());
  return words;
}

/// Option and source of data of the user's own; empty when `spec` is that of a set of data.json.
std::string own_source(const Json& spec) {
  if (!spec.contains("inputs") && spec.at("corpus").is_string()) return "";
  if (spec.contains("corpus"))
    return " --" + spec.at("corpus").get<std::string>() +
           file_words(spec.at("options").at("files"));
  Json files = Json::array();
  for (const auto& input : spec.at("inputs")) files.push_back(input.at("file"));
  const std::string format = spec.at("format"), first = files.at(0);
  if (format == "nanogpt")
    return " --nanogpt " + shell_word(fs::path(first).parent_path().string());
  if (format == "megatron")
    return " --megatron " + shell_word(fs::path(first).replace_extension().string());
  return " --llmc-shards" + file_words(files);
}

Json parse_sidecar(const std::string& path, const std::string& name) {
  const std::string text = read_file(path);
  try {
    return parse_json(text, path);
  } catch (const UserError& cut) {
    throw UserError({.what = cut.what(), .todo = prepare_again(name, Json())});
  }
}

}  // namespace

std::string dataset_folder(const std::string& cache, const std::string& name) {
  if (!is_plain_name(name))
    throw UserError(
        {.what = "not a name for a data set", .found = "\"" + name + "\"", .expected = kPlainName});
  return cache + "/datasets/" + name;
}

std::string prepare_again(const std::string& name, const Json& spec) {
  const std::string command = "normbench data prepare --again ";
  try {
    const std::string source = own_source(spec);
    if (source.empty()) return command + name;
    const bool is_text = spec.contains("corpus");
    const Json vocabulary = is_text ? spec.at("tokenizer").at("vocabulary") : spec.at("vocabulary");
    std::string text = command + "--name " + name + source;
    if (vocabulary != 0) text += " --vocabulary " + vocabulary.dump();
    if (is_text || spec.at("format") == "megatron")  // the others come as two splits
      text += " --validation-share " + spec.at("validation_share").dump();
    return text;
  } catch (const Json::exception&) {  // a damaged sidecar does not know where it came from
    return command + name + "; data of your own: " + command + "--name " + name +
           " and the source that it was made from (--text, --jsonl, --llmc-shards, --nanogpt or "
           "--megatron)";
  }
}

void write_sidecar(const std::string& folder, const Sidecar& s) {
  Json files = Json::array();
  for (const auto& file : s.files)
    files.push_back({{"path", file.path},
                     {"bytes", file.bytes},
                     {"modified_ns", file.modified_ns},
                     {"digest", file.digest},
                     {"block_bytes", file.block_bytes},
                     {"blocks", file.blocks}});
  Json json = {{"schema", kSidecarSchema},
               {"name", s.name},
               {"spec_digest", s.spec_digest},
               {"spec", s.spec},
               {"vocabulary", s.vocabulary},
               {"token_bytes", s.token_bytes},
               {"pieces_digest", s.pieces_digest},
               {"text_digest", s.text_digest},
               {"bytes_per_token", s.bytes_per_token},
               {"unigram_entropy_nats", s.unigram_entropy_nats},
               {"train", split_json(s.train)},
               {"validation", split_json(s.validation)},
               {"files", files},
               {"sources", s.sources},
               {"warnings", s.warnings}};
  json["sidecar_digest"] = xxh3_hex(canonical(json));
  write_json(folder + "/dataset.json", json);
}

Sidecar read_sidecar(const std::string& cache, const std::string& name) {
  const std::string folder = dataset_folder(cache, name), path = folder + "/dataset.json";
  if (!fs::exists(path)) {
    std::vector<std::string> prepared;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(cache + "/datasets", error))
      if (fs::exists(entry.path() / "dataset.json"))
        prepared.push_back(entry.path().filename().string());
    const std::string hint = did_you_mean(name, prepared);
    throw UserError({.what = "the data set \"" + name + "\" is not prepared",
                     .where = folder,
                     .todo = "run `normbench data prepare " + name +
                             "` (data of your own: with --name and its source)" +
                             (hint.empty() ? "" : ", or " + hint)});
  }
  Json json = parse_sidecar(path, name);
  std::string claimed;
  if (json.is_object() && json.contains("sidecar_digest") && json["sidecar_digest"].is_string()) {
    claimed = json["sidecar_digest"].get<std::string>();
    json.erase("sidecar_digest");
  }
  const Json spec = json.is_object() ? json.value("spec", Json()) : Json();
  const std::string found = xxh3_hex(canonical(json));
  if (found != claimed)
    throw UserError({.what = "the sidecar of a data set was changed by hand or cut",
                     .where = path,
                     .found = "digest " + found,
                     .expected = claimed.empty() ? "a key sidecar_digest" : claimed,
                     .todo = prepare_again(name, spec)});
  const JsonObject o(json, path);
  if (o.required<std::string>("schema") != kSidecarSchema)
    o.fail("schema", "unknown schema", o.required<std::string>("schema"), kSidecarSchema,
           prepare_again(name, spec));
  Sidecar s;
  s.name = o.required<std::string>("name");
  if (s.name != name)
    o.fail("name", "the folder holds another data set", s.name, name, prepare_again(name, spec));
  s.spec_digest = o.required<std::string>("spec_digest");
  s.spec = o.raw("spec");
  s.vocabulary = o.required<int64_t>("vocabulary");
  s.token_bytes = o.required<int64_t>("token_bytes");
  s.pieces_digest = o.required<std::string>("pieces_digest");
  s.text_digest = o.required<std::string>("text_digest");
  s.bytes_per_token = o.required<double>("bytes_per_token");
  s.unigram_entropy_nats = o.required<double>("unigram_entropy_nats");
  s.train = read_split(o.object("train"));
  s.validation = read_split(o.object("validation"));
  o.for_each_element("files", [&](const JsonObject& f) {
    s.files.push_back({f.required<std::string>("path"), f.required<int64_t>("bytes"),
                       f.required<int64_t>("modified_ns"), f.required<std::string>("digest"),
                       f.required<int64_t>("block_bytes"),
                       f.required<std::vector<std::string>>("blocks")});
    f.finish();
  });
  for (const auto& source : o.raw("sources")) s.sources.push_back(source);
  s.warnings = o.required<std::vector<std::string>>("warnings");
  o.finish();
  return s;
}

std::string digests_text(const Sidecar& s) {
  return "digests of the tokens: " + s.train.digest + " (training), " + s.validation.digest +
         " (validation)";
}

DigestedFile digest_file(const std::string& folder, const std::string& path) {
  const std::string full = absolute(folder, path);
  const MappedFile file(full);
  const auto bytes = file.bytes();
  DigestedFile out{path, static_cast<int64_t>(bytes.size()), 0, xxh3_hex(bytes), kSmallestBlock,
                   {}};
  if (full == path) out.modified_ns = modified_ns(full);
  while (out.bytes > out.block_bytes * kMostBlocks) out.block_bytes *= 2;
  for (int64_t at = 0; at < out.bytes; at += out.block_bytes)
    out.blocks.push_back(hex64(xxh3_64(bytes.substr(at, out.block_bytes))));
  return out;
}

std::string length_damage(const std::string& folder, const DigestedFile& file) {
  const std::string full = absolute(folder, file.path);
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(full, error));
  if (error == std::errc::no_such_file_or_directory) return full + ": the file is missing";
  if (error) return full + ": " + error.message();
  if (size == file.bytes) return "";
  return full + ": the file " + (size < file.bytes ? "is cut" : "has grown") + ": " +
         std::to_string(size) + " bytes instead of " + std::to_string(file.bytes);
}

std::vector<std::string> damages(const std::string& folder, const DigestedFile& file,
                                 bool thorough) {
  if (const auto found = length_damage(folder, file); !found.empty()) return {found};
  const std::string full = absolute(folder, file.path);
  const MappedFile mapped(full);
  const auto bytes = mapped.bytes();
  const auto size = static_cast<int64_t>(bytes.size());
  if (!thorough && size > kReadAtOpen && full == file.path && modified_ns(full) == file.modified_ns)
    return {};
  if (xxh3_hex(bytes) == file.digest) return {};
  std::vector<std::string> found;
  int64_t first = -1;
  const auto close = [&](int64_t end) {
    if (first >= 0)
      found.push_back(full + ": changed between byte " + std::to_string(first) + " and byte " +
                      std::to_string(std::min(end, size) - 1));
    first = -1;
  };
  for (int64_t block = 0; block * file.block_bytes < size; ++block) {
    const int64_t at = block * file.block_bytes;
    const bool same = block < static_cast<int64_t>(file.blocks.size()) &&
                      hex64(xxh3_64(bytes.substr(at, file.block_bytes))) ==
                          file.blocks[static_cast<size_t>(block)];
    if (same)
      close(at);
    else if (first < 0)
      first = at;
  }
  close(size);
  if (found.empty()) found.push_back(full + ": the digest of the file differs from the sidecar's");
  return found;
}

std::string token_digest(const std::vector<TokenSpan>& spans) {
  StreamHash hash;
  for (const auto& span : spans) hash.update(span.bytes());
  return hash.hex();
}

std::vector<TokenSpan> open_split(const std::string& folder, const Sidecar& sidecar,
                                  const SplitRecord& split) {
  std::vector<TokenSpan> spans;
  for (const auto& part : split.parts) {
    NORMBENCH_CHECK(part.file >= 0 && part.file < static_cast<int64_t>(sidecar.files.size()),
                    std::to_string(part.file));
    const std::string path = absolute(folder, sidecar.files[static_cast<size_t>(part.file)].path);
    TokenSpan span{std::make_shared<const MappedFile>(path), part.first_byte, part.tokens,
                   static_cast<int>(sidecar.token_bytes)};
    const auto end = part.first_byte + part.tokens * sidecar.token_bytes;
    if (end > static_cast<int64_t>(span.file->bytes().size()))
      throw UserError({.what = "a token shard is cut",
                       .where = path,
                       .found = std::to_string(span.file->bytes().size()) + " bytes",
                       .expected = "at least " + std::to_string(end),
                       .todo = prepare_again(sidecar.name, sidecar.spec)});
    spans.push_back(std::move(span));
  }
  return spans;
}

}  // namespace normbench
