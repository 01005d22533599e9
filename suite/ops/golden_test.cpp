// Truth: baselines/golden/op-*.safetensors, written in double by the authors' public code or by an
// independent reading of the papers. Tolerance of those files: 1e-9; here both sides are double
// sums of 10 to 33 terms, so 1e-12 must hold.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/ops/lerp.h"
#include "suite/ops/norm.h"
#include "suite/ops/op_testing.h"
#include "suite/ops/parameter_group.h"
#include "suite/ops/rope.h"

namespace normbench::ops {
namespace {

using testing::golden;
using testing::relative_error;

constexpr double kTolerance = 1e-12;

// Worst error of one row at a time: a row of size 1e-3 must be right beside a row of size 1e3.
double row_error(const torch::Tensor& a, const torch::Tensor& b) {
  const auto x = a.reshape({-1, a.size(-1)}), y = b.reshape({-1, b.size(-1)});
  double worst = 0;
  for (int64_t i = 0; i < y.size(0); ++i) worst = std::max(worst, relative_error(x[i], y[i]));
  return worst;
}

torch::Tensor leaf(const torch::Tensor& x) { return x.clone().requires_grad_(); }

void backward(const torch::Tensor& y, const torch::Tensor& cotangent) {
  (y * cotangent).sum().backward();
}

TEST(Golden, NormsOfRowsFromMilliToKilo) {
  const std::string file = "op-norms";
  const auto cotangent = golden(file, "input.cotangent");
  auto x = leaf(golden(file, "input.x"));
  auto y = l2_norm(x);
  backward(y, cotangent);
  EXPECT_LT(row_error(y, golden(file, "out.l2")), kTolerance);
  EXPECT_LT(row_error(x.grad(), golden(file, "grad.l2.x")), kTolerance);

  x = leaf(golden(file, "input.x"));
  auto gain = leaf(golden(file, "param.gain"));
  y = rms_norm(x, gain, 1e-6);
  backward(y, cotangent);
  EXPECT_LT(row_error(y, golden(file, "out.rms")), kTolerance);
  EXPECT_LT(row_error(x.grad(), golden(file, "grad.rms.x")), kTolerance);
  EXPECT_LT(relative_error(gain.grad(), golden(file, "grad.rms.gain")), kTolerance);
}

TEST(Golden, RmsNormOfSimpleGpt) {
  const std::string file = "op-rmsnorm";
  auto x = leaf(golden(file, "input.x")), gain = leaf(golden(file, "param.weight"));
  auto y = rms_norm(x, gain, 1e-5);
  backward(y, golden(file, "input.cotangent"));
  EXPECT_LT(row_error(y, golden(file, "out.y")), kTolerance);
  EXPECT_LT(row_error(x.grad(), golden(file, "grad.x")), kTolerance);
  EXPECT_LT(relative_error(gain.grad(), golden(file, "grad.weight")), kTolerance);
}

TEST(Golden, NormalizedLerp) {
  const std::string file = "op-ngpt_lerp";
  auto h = leaf(golden(file, "input.h")), branch = leaf(golden(file, "input.branch"));
  auto alpha = leaf(golden(file, "param.alpha"));
  const double scale = 0.05 / 0.31622776601683794;  // alpha_init / alpha_scale of the file
  auto y = lerp_normalize(h, branch, (alpha * scale).abs());
  backward(y, golden(file, "input.cotangent"));
  EXPECT_LT(row_error(y, golden(file, "out.y")), kTolerance);
  EXPECT_LT(row_error(h.grad(), golden(file, "grad.h")), kTolerance);
  EXPECT_LT(row_error(branch.grad(), golden(file, "grad.branch")), kTolerance);
  EXPECT_LT(relative_error(alpha.grad(), golden(file, "grad.alpha")), kTolerance);
}

TEST(Golden, ScaledLerp) {
  for (const auto& [file, nu] : {std::pair{"op-angpt_lerp-elementwise", NuAlpha::kElementwise},
                                 std::pair{"op-angpt_lerp-scalar", NuAlpha::kScalar}}) {
    auto h = leaf(golden(file, "input.h")), branch = leaf(golden(file, "input.branch"));
    auto alpha = leaf(golden(file, "param.alpha"));
    auto y = scaled_lerp(h, branch, alpha * 5.0, /*normalize_branch=*/false, nu);  // 0.05 / 0.01
    backward(y, golden(file, "input.cotangent"));
    EXPECT_LT(row_error(y, golden(file, "out.y")), kTolerance) << file;
    EXPECT_LT(row_error(h.grad(), golden(file, "grad.h")), kTolerance) << file;
    EXPECT_LT(row_error(branch.grad(), golden(file, "grad.branch")), kTolerance) << file;
    EXPECT_LT(relative_error(alpha.grad(), golden(file, "grad.alpha")), kTolerance) << file;
  }
}

TEST(Golden, RopeInEveryPairing) {
  const std::string file = "op-rope";
  struct Case {
    std::string name;
    RopePairs pairs;
    int64_t width;
  };
  for (const auto& c :
       {Case{"half", RopePairs::kHalf, 8}, Case{"half_partial", RopePairs::kHalf, 4},
        Case{"interleaved", RopePairs::kInterleaved, 8},
        Case{"interleaved_partial", RopePairs::kInterleaved, 4},
        Case{"published", RopePairs::kPublished, 8}}) {
    const auto table = rope_table(16, c.width, 1e4, c.pairs, torch::kDouble);
    auto x = leaf(golden(file, "input.x"));  // the file has [B, H, T, Dh]
    auto y = rope(x.transpose(1, 2), table).transpose(1, 2);
    backward(y, golden(file, "input.cotangent"));
    EXPECT_LT(relative_error(y, golden(file, "out." + c.name)), kTolerance) << c.name;
    EXPECT_LT(relative_error(x.grad(), golden(file, "grad." + c.name + ".x")), kTolerance)
        << c.name;
  }
}

TEST(Golden, RowConstraints) {
  const std::string file = "op-weight_constraint";
  const auto constrained = [&](const char* name, RowConstraint constraint, int64_t axis) {
    auto w = golden(file, name);
    constrain_({"w", w, false, constraint, axis});
    return w;
  };
  const auto safe = golden(file, "out.l2_dim1_safe");
  EXPECT_LT(relative_error(constrained("input.W", RowConstraint::kUnit, 1), safe), kTolerance);
  // The published code makes NaN of the zero column; ours keeps zeros (torch's normalize does too).
  const auto columns = golden(file, "out.l2_dim0").nan_to_num(0.0);
  EXPECT_LT(relative_error(constrained("input.W0", RowConstraint::kUnit, 0), columns), kTolerance);
  const auto clamped = constrained("input.W", RowConstraint::kBound, 1);
  EXPECT_LT(relative_error(clamped, golden(file, "out.clamp_dim1")), kTolerance);
  const auto before = golden(file, "input.W");
  const auto norms = golden(file, "out.row_norms");
  for (int64_t i = 0; i < norms.size(0); ++i) {
    if (norms[i].item<double>() > 1) continue;
    EXPECT_TRUE(torch::equal(clamped[i], before[i])) << "row " << i;
  }
}

TEST(Golden, AWrongOperatorIsSeen) {
  const auto x = golden("op-norms", "input.x");
  const auto wrong =
      x / (x.square().sum(-1, true) + 1e-8).sqrt();  // an eps of 1e-8, invisible at rows of size 1
  EXPECT_GT(row_error(wrong, golden("op-norms", "out.l2")), 1e-9);
  EXPECT_EQ(relative_error(x, x.transpose(0, 1)), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace normbench::ops
