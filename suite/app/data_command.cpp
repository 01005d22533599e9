#include "suite/app/data_command.h"

#include <glob.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "data/dataset.h"
#include "suite/base/log.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

/// Names of the folders below <cache>/datasets that hold a sidecar, sorted.
std::vector<std::string> prepared_names(const std::string& cache) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache + "/datasets", error)) {
    const std::string name = entry.path().filename().string();
    if (name[0] != '.' && fs::exists(entry.path() / "dataset.json")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A name without a wildcard is a pattern too. One that matches nothing is an error whatever the
/// others match: shards would be missing without a word.
std::vector<std::string> files_matching(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (files.empty())
    throw UserError({.what = "no file matches",
                     .where = "--llmc-shards",
                     .found = pattern,
                     .expected = "llm.c token shards, for example 'data/fineweb_*.bin'"});
  return files;
}

std::vector<std::string> expand(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const auto& pattern : patterns) {
    const auto found = files_matching(pattern);
    files.insert(files.end(), found.begin(), found.end());
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

const DatasetSpec& find_spec(const std::vector<DatasetSpec>& specs, const std::string& name,
                             const std::string& file) {
  std::vector<std::string> known;
  for (const auto& spec : specs) {
    if (spec.name == name) return spec;
    known.push_back(spec.name);
  }
  throw UserError(
      {.what = "unknown data set",
       .where = file,
       .found = "\"" + name + "\"",
       .expected = one_of(known),
       .todo = did_you_mean(name, known, "for text of your own: --name NAME --text FILE...")});
}

void check_package_file(const DataPrepareOptions& o, const std::vector<DatasetSpec>& specs,
                        const std::string& file) {
  if (o.deb.empty()) return;
  const std::string where = "--deb " + o.deb;
  if (o.names.size() != 1)
    throw UserError({.what = "a package file belongs to one data set",
                     .where = where,
                     .found = std::to_string(o.names.size()) + " names",
                     .expected = "one name",
                     .todo = "for example `normbench data prepare gcide_1k --deb " + o.deb + "`"});
  const DatasetSpec& spec = find_spec(specs, o.names[0], file);
  if (!spec.options.contains("package"))
    throw UserError({.what = "the text of this data set comes from no package",
                     .where = where,
                     .found = spec.name + ", corpus " + spec.corpus,
                     .todo = "leave --deb away"});
}

int prepare_own(const DataPrepareOptions& o, const PrepareOptions& prepare,
                const std::vector<DatasetSpec>& specs) {
  const int sources = !o.text.empty() + !o.jsonl.empty() + !o.llmc_shards.empty() +
                      !o.nanogpt.empty() + !o.megatron.empty();
  if (o.name.empty() || sources != 1)
    throw UserError(
        {.what = "a data set of your own needs a name and one source",
         .found = (o.name.empty() ? std::string("no --name") : "--name " + o.name) + " and " +
                  std::to_string(sources) + " kinds of source",
         .expected =
             "--name NAME and one of --text, --jsonl, --llmc-shards, --nanogpt, --megatron"});
  if (!o.names.empty() || !o.deb.empty())
    throw UserError({.what = "a data set of your own is prepared alone",
                     .found = o.deb.empty() ? o.names[0] : "--deb " + o.deb,
                     .todo = "call `normbench data prepare` twice"});
  for (const auto& spec : specs)
    if (spec.name == o.name)
      throw UserError({.what = "this name belongs to a data set of data.json",
                       .found = o.name,
                       .todo = "choose another name"});
  if (!(o.validation_share > 0 && o.validation_share < 1))
    throw UserError({.what = "not a share",
                     .where = "--validation-share",
                     .found = std::to_string(o.validation_share),
                     .expected = "above 0 and below 1"});
  if (o.vocabulary < 0)
    throw UserError({.what = "not a vocabulary",
                     .where = "--vocabulary",
                     .found = std::to_string(o.vocabulary)});
  if (!o.text.empty() || !o.jsonl.empty()) {
    const bool is_text = !o.text.empty();
    prepare_dataset(user_spec(o.name, is_text ? "text" : "jsonl", is_text ? o.text : o.jsonl,
                              o.vocabulary > 0 ? o.vocabulary : 4096, o.validation_share),
                    prepare);
    return kExitOk;
  }
  ReadyMade request{.name = o.name,
                    .format = "llmc",
                    .files = {},
                    .vocabulary = o.vocabulary,
                    .validation_share = o.validation_share};
  if (!o.llmc_shards.empty()) request.files = expand(o.llmc_shards);
  if (!o.nanogpt.empty()) request.format = "nanogpt", request.files = {o.nanogpt};
  if (!o.megatron.empty()) request.format = "megatron", request.files = {o.megatron};
  prepare_ready_made(request, prepare);
  return kExitOk;
}

/// A damaged sidecar is a finding like another, so that the other data sets are verified as well.
bool is_whole(const std::string& name, const std::string& cache) {
  try {
    const auto found = verify_dataset(name, cache);
    const Sidecar sidecar = read_sidecar(cache, name);
    if (found.empty()) {
      std::printf("%s: whole; %s\n", name.c_str(), digests_text(sidecar).c_str());
      return true;
    }
    for (const auto& line : found) std::printf("%s: %s\n", name.c_str(), line.c_str());
    std::printf("  to do:    %s\n", prepare_again(name, sidecar.spec).c_str());
  } catch (const UserError& damaged) {
    std::printf("%s: %s\n", name.c_str(), damaged.what());
  }
  return false;
}

}  // namespace

int data_list(const DataCommandOptions& common) {
  const auto specs = read_data_specs(common.specs);
  std::printf("%-16s %-10s %10s %14s %12s %9s  %-9s %s\n", "name", "corpus", "vocabulary",
              "train tokens", "validation", "bytes/tok", "prepared", "licence");
  auto names = prepared_names(common.cache_folder);
  const auto row = [&](const std::string& name, const std::string& corpus, int64_t vocabulary,
                       int64_t train, int64_t validation, double bytes_per_token,
                       const char* prepared, const std::string& license) {
    std::printf("%-16s %-10s %10lld %14lld %12lld %9.3f  %-9s %s\n", name.c_str(), corpus.c_str(),
                static_cast<long long>(vocabulary), static_cast<long long>(train),
                static_cast<long long>(validation), bytes_per_token, prepared, license.c_str());
  };
  /// The sidecar's own numbers; "differs": prepared with a warning, for example by another
  /// SentencePiece.
  const auto prepared_row = [&](const std::string& name, const std::string& license) {
    try {
      const Sidecar s = read_sidecar(common.cache_folder, name);
      const std::string kind = s.spec.contains("corpus") ? s.spec["corpus"].get<std::string>()
                                                         : s.spec.value("format", std::string("?"));
      row(name, kind, s.vocabulary, s.train.tokens, s.validation.tokens, s.bytes_per_token,
          s.warnings.empty() ? "yes" : "differs", license);
      for (const auto& warning : s.warnings) std::printf("  %s\n", warning.c_str());
    } catch (const UserError& error) {
      std::printf("%-16s damaged: %s\n", name.c_str(), error.what());
    }
  };
  for (const auto& spec : specs) {
    if (const auto at = std::find(names.begin(), names.end(), spec.name); at != names.end()) {
      names.erase(at);
      prepared_row(spec.name, spec.license);
      continue;
    }
    const ExpectedDataset e = spec.expected.value_or(ExpectedDataset{});
    row(spec.name, spec.corpus, spec.tokenizer.vocabulary, e.train_tokens, e.validation_tokens,
        e.bytes_per_token, "no", spec.license);
  }
  for (const auto& name : names) prepared_row(name, "the user's own");
  return kExitOk;
}

int data_prepare(const DataCommandOptions& common, const DataPrepareOptions& o) {
  const auto specs = read_data_specs(common.specs);
  const PrepareOptions prepare{.cache_folder = common.cache_folder, .deb = o.deb, .again = o.again};
  if (!o.name.empty() || !o.text.empty() || !o.jsonl.empty() || !o.llmc_shards.empty() ||
      !o.nanogpt.empty() || !o.megatron.empty())
    return prepare_own(o, prepare, specs);
  check_package_file(o, specs, common.specs);
  if (o.names.empty()) {
    for (const auto& spec : specs) prepare_dataset(spec, prepare);
    return kExitOk;
  }
  for (const auto& name : o.names)
    find_spec(specs, name, common.specs);  // a wrong name before any work
  for (const auto& name : o.names) prepare_dataset(find_spec(specs, name, common.specs), prepare);
  return kExitOk;
}

int data_verify(const DataCommandOptions& common, const std::vector<std::string>& names) {
  const auto prepared = prepared_names(common.cache_folder);
  for (const auto& name : names)  // a wrong name before any work
    if (!is_one_of(name, prepared)) read_sidecar(common.cache_folder, name);
  const auto& all = names.empty() ? prepared : names;
  if (all.empty())
    throw UserError({.what = "there is nothing to verify",
                     .where = common.cache_folder + "/datasets",
                     .todo = "run `normbench data prepare`"});
  int code = kExitOk;
  for (const auto& name : all)
    if (!is_whole(name, common.cache_folder)) code = kExitCheckRed;
  return code;
}

}  // namespace normbench
