#include "suite/ops/observe.h"

#include "suite/base/errors.h"

namespace normbench::ops {
namespace {
thread_local Observer* active = nullptr;
}

Observer::Observer() {
  NORMBENCH_CHECK(active == nullptr, "a second observer");
  active = this;
}
Observer::~Observer() { active = nullptr; }

void see(const char* name, const torch::Tensor& value) {
  if (active != nullptr) active->seen_.push_back({name, value.detach()});
}

}  // namespace normbench::ops
