#include "data/dataset.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "data/corpus.h"
#include "data/workspace.h"
#include "suite/base/hash.h"
#include "suite/base/interrupt.h"
#include "suite/base/log.h"
#include "suite/base/names.h"
#include "suite/base/options.h"
#include "suite/base/text.h"

namespace normbench {
namespace {

/// Changed when the same specification would give other tokens (normalisation, order, split,
/// tokeniser settings).
constexpr int kPreparation = 2;

DatasetSpec read_spec(const std::string& name, const JsonObject& o) {
  DatasetSpec spec;
  spec.name = name;
  spec.file = o.file();
  spec.corpus = o.required<std::string>("corpus");
  require_known(o, "corpus", "unknown corpus", spec.corpus, corpus_names());
  spec.options = o.object("options").value();
  spec.tokenizer = read_options<TokenizerOptions>(o.object("tokenizer"));
  spec.validation_share = o.required<double>("validation_share");
  if (!(spec.validation_share > 0 && spec.validation_share < 1))
    o.fail("validation_share", "not a share", Json(spec.validation_share).dump(),
           "above 0 and below 1");
  spec.license = o.required<std::string>("license");
  spec.note = o.required<std::string>("note");
  if (o.has("expected")) {
    const JsonObject e = o.object("expected");
    spec.expected = ExpectedDataset{
        e.required<std::string>("text_digest"),  e.required<std::string>("pieces_digest"),
        e.required<std::string>("train_digest"), e.required<std::string>("validation_digest"),
        e.required<int64_t>("train_tokens"),     e.required<int64_t>("validation_tokens"),
        e.required<double>("bytes_per_token"),   e.required<double>("unigram_entropy_nats")};
    e.finish();
    for (const char* key : {"train_tokens", "validation_tokens", "bytes_per_token"})
      if (!(e.raw(key).get<double>() > 0))
        e.fail(key, "nothing that a preparation gives", e.raw(key).dump(), "above 0");
  }
  o.finish();
  return spec;
}

/// What one pass over the text gives: its digest, sizes, and the lines that the tokeniser learns
/// from.
struct TextFacts {
  std::string digest;
  std::vector<std::string> sample;
  double bytes = 0;
};

TextFacts read_text(const Corpus& corpus, const DatasetSpec& spec, SplitRecord* train,
                    SplitRecord* validation) {
  TextFacts facts;
  StreamHash hash;
  int64_t sampled = 0;
  corpus.for_each([&](const Document& document) {
    stop_if_interrupted();
    hash.update(document.text);
    hash.update(std::string_view("\0", 1));
    SplitRecord& split = document.split == Split::kTrain ? *train : *validation;
    ++split.documents;
    split.text_bytes += static_cast<int64_t>(document.text.size());
    if (document.split != Split::kTrain || sampled >= spec.tokenizer.training_bytes) return;
    sampled += static_cast<int64_t>(document.text.size());
    for (size_t begin = 0; begin < document.text.size();) {
      const size_t end = std::min(document.text.find('\n', begin), document.text.size());
      if (end > begin) facts.sample.push_back(document.text.substr(begin, end - begin));
      begin = end + 1;
    }
  });
  facts.digest = hash.hex();
  facts.bytes = static_cast<double>(train->text_bytes + validation->text_bytes);
  return facts;
}

void finish_split(SplitRecord* split, const ShardWriter& writer, const std::string& folder,
                  Sidecar* sidecar) {
  split->tokens = writer.tokens();
  std::vector<TokenSpan> spans;
  for (const auto& file : writer.files()) {
    spans.push_back(open_llmc_shard(folder + "/" + file));
    split->parts.push_back(
        {static_cast<int64_t>(sidecar->files.size()), kShardHeaderBytes, spans.back().tokens});
    sidecar->files.push_back({.path = file});
  }
  split->digest = token_digest(spans);
}

double entropy_nats(const std::vector<int64_t>& counts, int64_t total) {
  double entropy = 0;
  for (const int64_t count : counts)
    if (count > 0)
      entropy -= static_cast<double>(count) *
                 std::log(static_cast<double>(count) / static_cast<double>(total));
  return entropy / static_cast<double>(total);
}

void encode(const Corpus& corpus, Tokenizer* tokenizer, const std::string& folder, double bytes,
            Sidecar* s) {
  ShardWriter train(folder, "train", s->vocabulary),
      validation(folder, "validation", s->vocabulary);
  std::vector<int64_t> counts(static_cast<size_t>(s->vocabulary));
  std::vector<int32_t> ids;
  Progress progress("encode " + s->name, bytes / 1e6, "MB");
  double done = 0;
  corpus.for_each([&](const Document& document) {
    stop_if_interrupted();
    ids.clear();
    tokenizer->encode(document.text, &ids);
    ids.push_back(Tokenizer::kEndOfText);
    const bool is_train = document.split == Split::kTrain;
    (is_train ? train : validation).append(ids);
    if (is_train)
      for (const int32_t id : ids) ++counts[static_cast<size_t>(id)];
    done += static_cast<double>(document.text.size());
    progress.update(done / 1e6);
  });
  train.finish();
  validation.finish();
  s->token_bytes = train.width();
  finish_split(&s->train, train, folder, s);
  finish_split(&s->validation, validation, folder, s);
  s->bytes_per_token = bytes / static_cast<double>(s->train.tokens + s->validation.tokens);
  s->unigram_entropy_nats = entropy_nats(counts, s->train.tokens);
}

/// The block "expected" of data.json.
Json expected_json(const Sidecar& s) {
  return {{"text_digest", s.text_digest},         {"pieces_digest", s.pieces_digest},
          {"train_tokens", s.train.tokens},       {"validation_tokens", s.validation.tokens},
          {"train_digest", s.train.digest},       {"validation_digest", s.validation.digest},
          {"bytes_per_token", s.bytes_per_token}, {"unigram_entropy_nats", s.unigram_entropy_nats}};
}

/// With so many documents one in a hundred preparations has none on the smaller side.
std::string todo_for_empty_split(const DatasetSpec& spec) {
  if (spec.inputs.is_null()) return "give more text, or another validation_share in data.json";
  const double share = std::min(spec.validation_share, 1 - spec.validation_share);
  return std::string(spec.corpus == "text"
                         ? "a document is a chunk of a file: 4 kB and on to the next blank line"
                         : "a document is a line") +
         "; each is held out with probability " + Json(spec.validation_share).dump() +
         ": give at least " + Json(static_cast<int64_t>(std::ceil(5 / share))).dump() +
         " documents that differ, or a --validation-share nearer to 0.5";
}

void compare_text(const DatasetSpec& spec, const Sidecar& s) {
  if (!spec.expected || spec.expected->text_digest == s.text_digest) return;
  throw UserError(
      {.what = "the text of the data set \"" + spec.name + "\" is not the one that was measured",
       .where = s.sources.empty() ? spec.corpus : s.sources[0].dump(),
       .found = "text digest " + s.text_digest + ", " + std::to_string(s.train.documents) + " + " +
                std::to_string(s.validation.documents) + " documents, " +
                std::to_string(s.train.text_bytes) + " + " +
                std::to_string(s.validation.text_bytes) + " bytes",
       .expected = "text digest " + spec.expected->text_digest + " (suite/tables/data.json)",
       .todo = "give the package file that data.json names with --deb FILE; or, to use another "
               "text, prepare it "
               "under a name of your own with --text"});
}

void compare_tokens(const DatasetSpec& spec, Sidecar* s) {
  if (!spec.expected) return;
  const auto& e = *spec.expected;
  std::string text;
  if (e.pieces_digest != s->pieces_digest)
    text = "the tokeniser differs from the measured one (digest of the pieces " + s->pieces_digest +
           ", expected " + e.pieces_digest + "): another version of SentencePiece; ";
  else if (e.train_digest != s->train.digest || e.validation_digest != s->validation.digest)
    text = "the tokens differ from the measured ones although the pieces agree; ";
  else
    return;
  text += "found " + std::to_string(s->train.tokens) + " + " +
          std::to_string(s->validation.tokens) + " tokens, expected " +
          std::to_string(e.train_tokens) + " + " + std::to_string(e.validation_tokens) +
          "; losses are not comparable bit by bit with committed baselines";
  log_warning(spec.name + ": " + text);
  s->warnings.push_back(text);
}

}  // namespace

Json DatasetSpec::identity() const {
  Json json = {{"preparation", kPreparation},
               {"corpus", corpus},
               {"options", options},
               {"tokenizer", options_json(tokenizer)},
               {"validation_share", validation_share}};
  if (!inputs.is_null()) json["inputs"] = inputs;
  return json;
}

Json file_stamps(const std::vector<std::string>& files) {
  Json out = Json::array();
  for (const auto& file : files) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    if (error)
      throw UserError(
          {.what = "an input file cannot be read", .where = file, .found = error.message()});
    out.push_back(
        {{"file", file},
         {"bytes", bytes},
         {"modified_ns", std::filesystem::last_write_time(file).time_since_epoch().count()}});
  }
  return out;
}

DatasetSpec user_spec(const std::string& name, const std::string& corpus,
                      const std::vector<std::string>& files, int64_t vocabulary,
                      double validation_share) {
  std::vector<std::string> paths;
  for (const auto& file : files)
    paths.push_back(std::filesystem::absolute(file).lexically_normal().string());
  DatasetSpec spec;
  spec.name = name;
  spec.corpus = corpus;
  spec.options = {{"files", paths}};
  spec.tokenizer.vocabulary = vocabulary;
  check_limits(spec.tokenizer, "the tokeniser");
  spec.validation_share = validation_share;
  spec.license = "the user's own";
  spec.inputs = file_stamps(paths);
  return spec;
}

std::vector<DatasetSpec> read_data_specs(const std::string& path) {
  const Json json = read_json(path);
  const JsonObject o(json, path);
  if (o.required<std::string>("schema") != kDataSchema)
    o.fail("schema", "unknown schema", o.required<std::string>("schema"), kDataSchema);
  o.required<std::string>("note");
  std::vector<DatasetSpec> specs;
  o.for_each_object("datasets", [&](const std::string& name, const JsonObject& entry) {
    dataset_folder("", name);  // throws on a name that cannot be a folder
    specs.push_back(read_spec(name, entry));
  });
  o.finish();
  return specs;
}

bool prepare_dataset(const DatasetSpec& spec, const PrepareOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Workspace workspace(options.cache_folder, spec.name);
  Sidecar s;
  s.name = spec.name;
  s.spec = spec.identity();
  s.spec_digest = xxh3_hex(canonical(s.spec));
  if (!options.again && workspace.already_there(s.spec_digest)) return false;

  log_info("preparing the data set " + spec.name + " (corpus " + spec.corpus + ", vocabulary " +
           std::to_string(spec.tokenizer.vocabulary) + ")");
  const bool own = spec.file.empty();
  const JsonObject corpus_options(spec.options,
                                  own ? "options of the data set " + spec.name : spec.file,
                                  own ? "" : "/datasets/" + spec.name + "/options");
  const auto corpus = make_corpus(spec.corpus, corpus_options,
                                  {.downloads_folder = options.cache_folder + "/downloads",
                                   .deb = options.deb,
                                   .validation_share = spec.validation_share});
  s.sources = corpus->sources();
  s.warnings = corpus->warnings();
  for (const auto& warning : s.warnings) log_warning(spec.name + ": " + warning);

  const TextFacts facts = read_text(*corpus, spec, &s.train, &s.validation);
  s.text_digest = facts.digest;
  if (s.train.documents == 0 || s.validation.documents == 0)
    throw UserError({.what = "a split of the data set \"" + spec.name + "\" is empty",
                     .found = count_text(static_cast<size_t>(s.train.documents), "document") +
                              " for training, " + std::to_string(s.validation.documents) +
                              " for validation",
                     .todo = todo_for_empty_split(spec)});
  compare_text(spec, s);

  log_info("training the tokeniser on " + std::to_string(facts.sample.size()) + " lines");
  Tokenizer tokenizer = Tokenizer::train(facts.sample, spec.tokenizer);
  stop_if_interrupted();
  s.vocabulary = tokenizer.vocabulary();
  s.pieces_digest = tokenizer.digest();
  write_file_atomically(workspace.folder() + "/tokenizer.model", tokenizer.model());
  s.files.push_back({.path = "tokenizer.model"});
  encode(*corpus, &tokenizer, workspace.folder(), facts.bytes, &s);
  compare_tokens(spec, &s);
  workspace.commit(s);
  if (!spec.expected && spec.inputs.is_null())
    log_info("measured, for data.json: " + expected_json(s).dump());
  log_info(spec.name + ": " + std::to_string(s.train.tokens) + " training and " +
           std::to_string(s.validation.tokens) + " validation tokens in " +
           duration_text(
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()) +
           "; " + digests_text(s));
  return true;
}

std::vector<std::string> verify_dataset(const std::string& name, const std::string& cache_folder) {
  const std::string folder = dataset_folder(cache_folder, name);
  const Sidecar s = read_sidecar(cache_folder, name);
  std::vector<std::string> found;
  for (const auto& file : s.files)
    for (const auto& damage : damages(folder, file, /*thorough=*/true)) found.push_back(damage);
  if (!found.empty()) return found;  // a cut file cannot be read as tokens
  const auto check_split = [&](const char* what, const SplitRecord& split) {
    const auto spans = open_split(folder, s, split);
    int64_t tokens = 0;
    for (const auto& span : spans) tokens += span.tokens;
    if (tokens != split.tokens || token_digest(spans) != split.digest)
      found.push_back(folder + ": the " + what + " tokens differ from the digest of the sidecar");
  };
  check_split("training", s.train);
  check_split("validation", s.validation);
  return found;
}

}  // namespace normbench
