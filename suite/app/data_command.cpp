#include "suite/app/data_command.h"

#include <glob.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "data/batches.h"
#include "data/dataset.h"
#include "suite/app/own_data.h"
#include "suite/app/required.h"
#include "suite/base/log.h"
#include "suite/base/names.h"
#include "suite/base/text.h"

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

std::string spec_file(const Project& project) { return project.tables() + "/data.json"; }

/// nullptr when data.json does not have it.
const DatasetSpec* find_spec(const std::vector<DatasetSpec>& specs, const std::string& name) {
  for (const auto& spec : specs)
    if (spec.name == name) return &spec;
  return nullptr;
}

[[noreturn]] void refuse_unknown(const Project& project, const std::string& name,
                                 std::vector<std::string> known) {
  for (const auto& dataset : datasets_to_bring(project)) known.push_back(dataset.name);
  throw UserError(
      {.what = "unknown data set",
       .where = spec_file(project),
       .found = "\"" + name + "\"",
       .expected = one_of(known),
       .todo = did_you_mean(name, known, "for text of your own: --name NAME --text FILE...")});
}

void check_package_file(const DataPrepareOptions& o, const Project& project,
                        const std::vector<DatasetSpec>& specs) {
  if (o.deb.empty()) return;
  const std::string where = "--deb " + o.deb;
  if (o.names.size() != 1)
    throw UserError({.what = "a package file belongs to one data set",
                     .where = where,
                     .found = std::to_string(o.names.size()) + " names",
                     .expected = "one name",
                     .todo = "for example `normbench data prepare gcide_1k --deb " + o.deb + "`"});
  const DatasetSpec* spec = find_spec(specs, o.names[0]);
  if (spec == nullptr) refuse_unknown(project, o.names[0], dataset_names(project));
  if (!spec->options.contains("package"))
    throw UserError({.what = "the text of this data set comes from no package",
                     .where = where,
                     .found = spec->name + ", corpus " + spec->corpus,
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
                     .found = Json(o.validation_share).dump(),
                     .expected = "above 0 and below 1"});
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

/// A set of the user's own is made again from its source alone.
void look_at_own(const std::string& name, const PrepareOptions& prepare) {
  const Sidecar sidecar = read_sidecar(prepare.cache_folder, name);
  if (prepare.again)
    throw UserError({.what = "a data set of your own is prepared again from its source",
                     .found = name,
                     .todo = prepare_again(name, sidecar.spec)});
  open_dataset(name, prepare.cache_folder);  // throws when it is damaged
  log_info("the data set " + name + ", your own, is prepared already: nothing to do; " +
           digests_text(sidecar));
}

int say_missing(const std::vector<DatasetToBring>& missing, bool selected) {
  if (is_required("data")) {
    std::vector<std::string> names;
    for (const auto& dataset : missing) names.push_back(dataset.name);
    throw MachineError({.what = "data sets are required that are yours to bring",
                        .where = "NORMBENCH_REQUIRE",
                        .found = join(names, ", "),
                        .todo = how_to_bring()});
  }
  for (const auto& dataset : missing)
    std::printf("%s%s is yours to bring (wanted by %s)\n",
                selected ? "" : "skipped: ", dataset.name.c_str(), wanted_by(dataset).c_str());
  std::printf("  to do:    %s\n", how_to_bring().c_str());
  return selected ? kExitOk : kExitSkipped;
}

/// "-" for what is not known.
std::string or_dash(int64_t count) { return count > 0 ? std::to_string(count) : "-"; }

struct Row {
  std::string name, corpus;
  int64_t vocabulary = 0, train = 0, validation = 0;
  double bytes_per_token = 0;
  std::string prepared, license;
};

void print(const Row& row) {
  char bytes[32] = "-";
  if (row.bytes_per_token > 0) std::snprintf(bytes, sizeof bytes, "%.3f", row.bytes_per_token);
  std::printf("%-18s %-10s %10s %14s %12s %9s  %-9s %s\n", row.name.c_str(), row.corpus.c_str(),
              or_dash(row.vocabulary).c_str(), or_dash(row.train).c_str(),
              or_dash(row.validation).c_str(), bytes, row.prepared.c_str(), row.license.c_str());
}

/// The sidecar's own numbers. "differs": from the digests of data.json, by another SentencePiece
/// for example; the user's own has nothing to differ from. Files are looked at, not read: `verify`
/// does that.
void print_prepared(const std::string& cache, const std::string& name, const DatasetSpec* spec) {
  try {
    const Sidecar s = read_sidecar(cache, name);
    std::vector<std::string> lost;
    for (const auto& file : s.files)
      if (const auto found = length_damage(dataset_folder(cache, name), file); !found.empty())
        lost.push_back(found);
    print({.name = name,
           .corpus = s.spec.contains("corpus") ? s.spec["corpus"].get<std::string>()
                                               : s.spec.value("format", std::string("?")),
           .vocabulary = s.vocabulary,
           .train = s.train.tokens,
           .validation = s.validation.tokens,
           .bytes_per_token = s.bytes_per_token,
           .prepared = !lost.empty()                            ? "damaged"
                       : spec != nullptr && !s.warnings.empty() ? "differs"
                                                                : "yes",
           .license = spec != nullptr ? spec->license : "the user's own"});
    for (const auto& warning : s.warnings) std::printf("  %s\n", warning.c_str());
    for (const auto& line : lost) std::printf("  %s\n", line.c_str());
    if (!lost.empty()) std::printf("  to do:    %s\n", prepare_again(name, s.spec).c_str());
  } catch (const UserError& error) {
    std::printf("%-18s damaged: %s\n", name.c_str(), error.what());
  }
}

}  // namespace

int data_list(const Project& project) {
  const auto specs = read_data_specs(spec_file(project));
  const auto prepared = prepared_names(project.cache());
  std::printf("%-18s %-10s %10s %14s %12s %9s  %-9s %s\n", "name", "corpus", "vocabulary",
              "train tokens", "validation", "bytes/tok", "prepared", "licence");
  for (const auto& spec : specs) {
    if (is_one_of(spec.name, prepared)) {
      print_prepared(project.cache(), spec.name, &spec);
      continue;
    }
    const ExpectedDataset e = spec.expected.value_or(ExpectedDataset{});
    print({spec.name, spec.corpus, spec.tokenizer.vocabulary, e.train_tokens, e.validation_tokens,
           e.bytes_per_token, "no", spec.license});
  }
  for (const auto& name : prepared)
    if (find_spec(specs, name) == nullptr) print_prepared(project.cache(), name, nullptr);
  bool missing = false;
  for (const auto& dataset : datasets_to_bring(project)) {
    if (is_one_of(dataset.name, prepared)) continue;
    missing = true;
    print({.name = dataset.name, .corpus = "-", .prepared = "no", .license = "yours to bring"});
    std::printf("  wanted by %s\n", wanted_by(dataset).c_str());
  }
  if (missing) std::printf("yours to bring: %s\n", how_to_bring().c_str());
  return kExitOk;
}

int data_prepare(const Project& project, const DataPrepareOptions& o) {
  const auto specs = read_data_specs(spec_file(project));
  const PrepareOptions prepare{.cache_folder = project.cache(), .deb = o.deb, .again = o.again};
  if (!o.name.empty() || !o.text.empty() || !o.jsonl.empty() || !o.llmc_shards.empty() ||
      !o.nanogpt.empty() || !o.megatron.empty())
    return prepare_own(o, prepare, specs);
  check_package_file(o, project, specs);
  std::vector<const DatasetSpec*> ours;
  std::vector<std::string> own;
  std::vector<DatasetToBring> missing;
  const auto prepared = prepared_names(project.cache());
  for (const auto& name : o.names) {  // a wrong name before any work
    if (const auto* spec = find_spec(specs, name)) {
      ours.push_back(spec);
    } else if (is_one_of(name, prepared)) {
      own.push_back(name);
    } else {
      const auto wanted = datasets_to_bring(project);
      const auto found = std::find_if(wanted.begin(), wanted.end(),
                                      [&](const auto& dataset) { return dataset.name == name; });
      if (found == wanted.end()) refuse_unknown(project, name, dataset_names(project));
      missing.push_back(*found);
    }
  }
  for (const auto* spec : ours) prepare_dataset(*spec, prepare);
  for (const auto& name : own) look_at_own(name, prepare);
  return missing.empty() ? kExitOk : say_missing(missing, o.selected);
}

int data_verify(const Project& project, const std::vector<std::string>& names) {
  const auto prepared = prepared_names(project.cache());
  for (const auto& name : names)  // a wrong name before any work
    if (!is_one_of(name, prepared)) read_sidecar(project.cache(), name);
  const auto& all = names.empty() ? prepared : names;
  if (all.empty())
    throw UserError({.what = "there is nothing to verify",
                     .where = project.cache() + "/datasets",
                     .todo = "run `normbench data prepare`"});
  int code = kExitOk;
  for (const auto& name : all)
    if (!is_whole(name, project.cache())) code = kExitCheckRed;
  return code;
}

}  // namespace normbench
