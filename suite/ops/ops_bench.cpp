// normbench_ops_bench: every kernel against its plain ATen line, at the shapes of a small training
// step: 2048 tokens, width 128, MLP 256, vocabulary 1024, forward and backward, one thread. It
// first checks that both agree. The two are timed in turn (A B A B), and the counter `ratio` is the
// median of the reference over the median of the kernel: above 1, the kernel pays.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>

#include "suite/base/median.h"
#include "suite/ops/attention.h"
#include "suite/ops/fused.h"
#include "suite/ops/lerp.h"
#include "suite/ops/linear.h"
#include "suite/ops/norm.h"
#include "suite/ops/op_testing.h"
#include "suite/ops/parameter_group.h"
#include "suite/ops/rope.h"
#include "suite/ops/swiglu.h"

namespace normbench::ops {
namespace {

using testing::normal;
using testing::Operator;

constexpr int64_t kTokens = 2048, kWidth = 128, kMlp = 256, kVocabulary = 1024;

struct Case {
  std::string name;
  Operator op;
  std::vector<torch::Tensor> inputs;
};

std::vector<Case> cases() {
  const auto h = normal({8, 256, kWidth}, "h"), y = normal({8, 256, kWidth}, "y"),
             d = normal({kWidth}, "d").abs() * 0.3;
  const auto heads = normal({8, 256, 4, 32}, "heads"), more_heads = normal({8, 256, 4, 32}, "more");
  const auto gate = normal({8, 256, kMlp}, "gate"), up = normal({8, 256, kMlp}, "up");
  const auto rows = normal({kTokens, kWidth}, "rows"),
             head = normal({kVocabulary, kWidth}, "head") * 0.1;
  const auto targets = torch::arange(kTokens) * 37 % kVocabulary;
  const auto table = rope_table(256, 32, 1e4, RopePairs::kHalf, torch::kFloat);
  const auto pairs = rope_table(256, 32, 1e4, RopePairs::kInterleaved, torch::kFloat);
  const auto square = [](const char* name) { return normal({kWidth, kWidth}, name); };
  return {
      {"rms_norm", [](const auto& in) { return rms_norm(in[0], in[1], 1e-6); }, {h, d}},
      {"l2_norm", [](const auto& in) { return l2_norm(in[0]); }, {h}},
      {"lerp_normalize",
       [](const auto& in) { return lerp_normalize(in[0], in[1], in[2]); },
       {h, y, d}},
      {"scaled_lerp",
       [](const auto& in) { return scaled_lerp(in[0], in[1], in[2], true); },
       {h, y, d}},
      {"swiglu", [](const auto& in) { return swiglu(in[0], in[1]); }, {gate, up}},
      {"rope", [=](const auto& in) { return rope(in[0], table); }, {heads}},
      {"rope_interleaved", [=](const auto& in) { return rope(in[0], pairs); }, {heads}},
      {"rope_l2_norm",
       [=](const auto& in) { return rope_l2_norm(in[0], table, in[1]); },
       {heads, d}},
      {"linear_cross_entropy",
       [=](const auto& in) { return linear_cross_entropy(in[0], in[1], in[2], targets); },
       {rows, head, normal({kVocabulary}, "scale")}},
      {"causal_attention",
       [](const auto& in) { return causal_attention(in[0], in[1], in[2], 0.2); },
       {heads, more_heads, heads.flip(0)}},
      // Against one product a weight: the "reference" of linear_many.
      {"linear_many",
       [](const auto& in) {
         if (fused()) return torch::stack(linear_many(in[0], {in[1], in[2], in[3]}));
         return torch::stack(
             {ops::linear(in[0], in[1]), ops::linear(in[0], in[2]), ops::linear(in[0], in[3])});
       },
       {h, square("a"), square("b"), square("c")}},
      {"constrain",
       [](const auto& in) {
         constrain_({"w", in[0].detach(), false, RowConstraint::kUnit, 1});
         return in[0] * 1;
       },
       {head}},
  };
}

std::vector<torch::Tensor> with_kernel(bool on, const Case& c) {
  set_fused(on);
  auto result = testing::value_and_gradients(c.op, c.inputs);
  set_fused(true);
  return result;
}

void time_in_turn(benchmark::State& state, const Case& c) {
  std::vector<torch::Tensor> leaves;
  for (const auto& x : c.inputs) leaves.push_back(x.detach().requires_grad_());
  const auto cotangent = torch::ones_like(c.op(leaves));
  std::vector<double> seconds[2];
  for (auto _ : state) {
    for (const bool on : {true, false}) {
      set_fused(on);
      const auto start = std::chrono::steady_clock::now();
      torch::autograd::grad({c.op(leaves)}, leaves, {cotangent});
      seconds[on].push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  set_fused(true);
  state.counters["kernel_us"] = median(seconds[1]) * 1e6;
  state.counters["ratio"] = median(seconds[0]) / median(seconds[1]);
}

}  // namespace
}  // namespace normbench::ops

int main(int argc, char** argv) {
  using namespace normbench::ops;
  // As in training: large blocks stay with the process, else page faults of every fresh tensor are
  // what is measured.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2000000000);
  at::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  const auto all = cases();
  for (const auto& c : all) {
    const double error = testing::worst_error(with_kernel(true, c), with_kernel(false, c));
    if (!(error < 1e-4)) {  // sums of 2048 rows in fp32: 2048 * 6e-8
      std::fprintf(stderr, "%s: kernel and reference disagree by %g; expected below 1e-4\n",
                   c.name.c_str(), error);
      return 1;
    }
    benchmark::RegisterBenchmark(c.name.c_str(), time_in_turn, c)->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
