#include "suite/ops/fused.h"

#include <atomic>

namespace normbench::ops {
namespace {
std::atomic<bool> fused_on{true};
}

void set_fused(bool on) { fused_on = on; }
bool fused() { return fused_on; }

}  // namespace normbench::ops
