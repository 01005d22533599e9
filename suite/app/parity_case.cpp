#include "suite/app/parity_case.h"

#include <torch/torch.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace normbench {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Two float64 programs agree to 1e-9 (second derivatives to 1e-8); what is larger than this hides a
// computation in float32, or with another eps.
constexpr double kLargestTolerance = 1e-6;

std::string metadata(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    throw UserError({.what = "not a golden file: it lacks \"" + key + "\" in its metadata",
                     .where = file.path(),
                     .expected = "format normbench-golden-1 (baselines/golden/README.md)"});
  return found->second;
}

torch::Tensor read_tensor(const TensorEntry& entry, const std::string& name) {
  const auto type = entry.dtype == "F64"   ? torch::kDouble
                    : entry.dtype == "F32" ? torch::kFloat
                    : entry.dtype == "I64" ? torch::kLong
                    : entry.dtype == "I32" ? torch::kInt
                    : entry.dtype == "BOOL" || entry.dtype == "U8"
                        ? torch::kByte
                        : throw UserError({.what = "parity does not read this tensor type",
                                           .where = name,
                                           .found = entry.dtype,
                                           .expected = "F64, F32, I64, I32, U8 or BOOL"});
  auto tensor = torch::empty(entry.shape, type);
  if (!entry.bytes.empty()) std::memcpy(tensor.data_ptr(), entry.bytes.data(), entry.bytes.size());
  return tensor.to(tensor.is_floating_point() ? torch::kDouble : torch::kLong);
}

/// max |a - b| / max |b| over `dims`; the magnitude of a vanishing b is 1, so that its error is
/// absolute.
double relative_error(const torch::Tensor& a, const torch::Tensor& b, ParityScale scale) {
  if (b.numel() == 0) return 0;
  const bool rows = scale == ParityScale::kRow && b.dim() > 0;
  const auto difference = (a - b).abs(), magnitude = b.abs();
  const auto worst = rows ? difference.amax(-1) : difference.max();
  auto size = rows ? magnitude.amax(-1) : magnitude.max();
  size = torch::where(size == 0, torch::ones_like(size), size);
  if (scale == ParityScale::kAbsolute) size = torch::ones_like(size);
  const double error = (worst / size).max().item<double>();
  return std::isfinite(error) ? error : kInfinite;
}

}  // namespace

ParityCase::ParityCase(const std::string& path) : file_(path) {
  const auto format = metadata(file_, "format");
  if (format != "normbench-golden-1")
    throw UserError({.what = "unknown format of a golden file",
                     .where = path,
                     .found = format,
                     .expected = "normbench-golden-1"});
  kind_ = metadata(file_, "model");
  config_ = parse_json(metadata(file_, "config"), path);
  const Json tolerance = parse_json(metadata(file_, "tolerance"), path);
  if (!tolerance.is_number() ||
      !(tolerance.get<double>() > 0 && tolerance.get<double>() <= kLargestTolerance))
    throw UserError({.what = "a tolerance with which a golden file cannot pass or proves little",
                     .where = path,
                     .found = tolerance.dump(),
                     .expected = "above 0 and at most 1e-6"});
  tolerance_ = tolerance.get<double>();
}

double ParityCase::num_elements() const {
  double sum = 0;
  for (const auto& [name, entry] : file_.tensors())
    sum += static_cast<double>(entry.num_elements());
  return sum;
}

std::vector<std::string> ParityCase::names_after(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : file_.tensors())
    if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
  return names;
}

torch::Tensor ParityCase::tensor(const std::string& name) const {
  const auto found = file_.tensors().find(name);
  if (found == file_.tensors().end())
    throw UserError({.what = "the golden file lacks a tensor that its config asks for",
                     .where = file_.path(),
                     .expected = name});
  return read_tensor(found->second, name);
}

torch::Tensor ParityCase::input(const std::string& name) {
  auto value = tensor(name);
  read_.insert(name);
  return value;
}

void ParityCase::expect(const std::string& name, const torch::Tensor& ours, ParityScale scale) {
  expect_values(name, ours, tensor(name), scale);
}

void ParityCase::expect_values(const std::string& name, const torch::Tensor& ours,
                               const torch::Tensor& theirs, ParityScale scale) {
  compared_.insert(name);
  if (!ours.defined()) {
    rows_.push_back({name, kInfinite, "nothing was computed (no gradient reaches it)"});
  } else if (ours.sizes() != theirs.sizes()) {
    std::ostringstream shapes;
    shapes << "shape is " << ours.sizes() << ", the file has " << theirs.sizes();
    rows_.push_back({name, kInfinite, shapes.str()});
  } else {
    rows_.push_back(
        {name, relative_error(ours.detach().to(torch::kDouble), theirs.to(torch::kDouble), scale),
         ""});
  }
}

void ParityCase::expect_number(const std::string& name, double ours, double theirs) {
  rows_.push_back(
      {name,
       relative_error(torch::scalar_tensor(ours, torch::kDouble),
                      torch::scalar_tensor(theirs, torch::kDouble), ParityScale::kTensor),
       ""});
}

ParityReport ParityCase::finish(const std::string& kind) const {
  ParityReport report{.file = file_.path(),
                      .kind = kind,
                      .tolerance = tolerance_,
                      .num_read = static_cast<int64_t>(read_.size()),
                      .rows = rows_};
  for (const auto& [name, entry] : file_.tensors())
    if (!read_.count(name) && !compared_.count(name))
      report.rows.push_back(
          {name, kInfinite, "not compared: nothing here computes a tensor of this name"});
  return report;
}

}  // namespace normbench
