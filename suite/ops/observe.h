// Looking into a forward pass: models name activations with see(), and whoever wants them holds an
// Observer. Without one a call costs a comparison.
#pragma once

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

namespace normbench::ops {

/// Collects what models of this thread see() while it lives, in order. One at a time.
class Observer {
 public:
  Observer();
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  struct Activation {
    std::string name;
    torch::Tensor value;
  };
  const std::vector<Activation>& seen() const { return seen_; }

 private:
  friend void see(const char* name, const torch::Tensor& value);
  std::vector<Activation> seen_;
};

/// Names an activation: "attn.in" and "attn.out", "mlp.in" and "mlp.out" are what the first matrix
/// of a branch reads and what its last one writes, before any norm of the result.
void see(const char* name, const torch::Tensor& value);

}  // namespace normbench::ops
