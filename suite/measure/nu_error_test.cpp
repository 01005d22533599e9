#include "suite/measure/nu_error.h"

#include <gtest/gtest.h>

namespace normbench {
namespace {

TEST(NuError, ThePapersFactorsMissByLittleAtItsOwnSize) {
  Rows rows;
  measure_nu_error({.matrices = 2, .inputs = 64}, 0, rows);
  // Table N.2 has 1.16, .07, .02, .08, .41 and 0.00 percent; its sampling is not described, so the
  // order of magnitude is what can be compared.
  for (const char* factor : {"qkv", "p", "uz", "d", "acf", "alpha"})
    EXPECT_LT(rows.values().at(std::string(factor) + "_percent"), 2) << factor;
  EXPECT_EQ(rows.rows().size(), 12u);
}

TEST(NuError, AWrongFactorIsSeen) {
  Rows rows;
  measure_nu_error({.width = 256, .mlp_width = 1024, .matrices = 1, .inputs = 64, .nu_acf = 1.87},
                   0, rows);
  EXPECT_NEAR(rows.values().at("acf_percent"), 50, 2);  // half of what it should be
}

TEST(NuError, RefusesSizesThatDoNotFit) {
  Rows rows;
  EXPECT_THROW(measure_nu_error({.width = 100, .head_width = 64}, 0, rows), UserError);
}

}  // namespace
}  // namespace normbench
