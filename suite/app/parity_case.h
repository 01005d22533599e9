// One golden file while it is being checked: its tensors, its config, and what was compared so far.
#pragma once

#include <torch/types.h>

#include <set>
#include <string>
#include <vector>

#include "suite/app/parity.h"
#include "suite/base/json.h"
#include "suite/base/safetensors.h"

namespace normbench {

/// Over what the error of a tensor is relative.
enum class ParityScale {
  kTensor,    // its largest magnitude
  kRow,       // the largest magnitude of each row (last dimension): for inputs whose rows differ by
              // decades
  kAbsolute,  // 1: for what is zero in exact arithmetic
};

class ParityCase {
 public:
  explicit ParityCase(const std::string& path);

  const std::string& kind() const { return kind_; }  // the file's `model`
  JsonObject config() const { return JsonObject(config_, file_.path(), "/config"); }

  bool has(const std::string& name) const { return file_.tensors().count(name) != 0; }
  /// Of all tensors of the file together.
  double num_elements() const;
  /// Names that start with `prefix`, without it.
  std::vector<std::string> names_after(const std::string& prefix) const;
  /// A tensor of the file as fp64 (or int64), and marks it as read. Throws UserError when it is
  /// absent.
  torch::Tensor input(const std::string& name);
  /// The same without marking it.
  torch::Tensor tensor(const std::string& name) const;

  /// Compares with the tensor `name` of the file, which must be there.
  void expect(const std::string& name, const torch::Tensor& ours,
              ParityScale scale = ParityScale::kTensor);
  /// The same when the caller has repaired the file's values (and says why).
  void expect_values(const std::string& name, const torch::Tensor& ours,
                     const torch::Tensor& theirs, ParityScale scale = ParityScale::kTensor);
  /// Compares a number of the config.
  void expect_number(const std::string& name, double ours, double theirs);

  /// Adds a failing row for every tensor that was neither read nor compared.
  ParityReport finish(const std::string& kind) const;

 private:
  SafetensorsFile file_;
  std::string kind_;
  Json config_;
  double tolerance_ = 0;
  std::set<std::string> read_, compared_;
  std::vector<ParityRow> rows_;
};

// One checker a kind of file. Each returns the report's kind.
std::string check_hybrid_parity(ParityCase& golden);
std::string check_model_parity(ParityCase& golden);
std::string check_op_parity(ParityCase& golden);
std::string check_optim_parity(ParityCase& golden);
std::string check_schedule_parity(ParityCase& golden);

// Parts of them: activation Hessians of one layer, and of a network (its config and its tensors).
class Decoder;
void check_layer_hessian(ParityCase& golden, const JsonObject& config);
void read_network_hessian(const JsonObject& config);
void check_network_hessian(ParityCase& golden, Decoder& model, const torch::Tensor& tokens,
                           const torch::Tensor& targets);

// Operators of the hybrids, called by check_op_parity().
void check_balance_parity(ParityCase& golden, const JsonObject& config);
void check_conv_parity(ParityCase& golden, const JsonObject& config);
void check_ssd_parity(ParityCase& golden, const JsonObject& config);

/// Throws UserError unless the config's `key` is `expected` (absent is right too).
template <class T>
void require_value(const JsonObject& config, const std::string& key, const T& expected) {
  const T found = config.optional<T>(key, expected);
  if (found != expected)
    config.fail(key, "parity cannot rebuild this", Json(found).dump(), Json(expected).dump());
}

}  // namespace normbench
