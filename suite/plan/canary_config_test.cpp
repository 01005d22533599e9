// A canary exists for every arm that can be trained, and runs all of its code. For any other arm
// its configuration is what it was when the first records were written: records hang on it.
#include "suite/plan/testing/small_table.h"

namespace normbench {
namespace {

using namespace testing::small_table;

class CanaryConfig : public PlanTest {
 protected:
  /// The canary of arm a, with these options, on a size of 8 heads.
  Json canary(const std::string& model, const Json& model_options, const std::string& schedule,
              const Json& schedule_options) {
    Json sizes = sizes_file();
    sizes["sizes"]["wide"] = sizes["sizes"]["micro"];
    sizes["sizes"]["wide"]["num_heads"] = 8;
    write_json(folder_ + "/sizes.json", sizes);
    Json table = table_file();
    table[Json::json_pointer(kSetting + "/size")] = "wide";
    Json& arm = table["arms"]["a"];
    arm["model"] = model;
    arm["model_options"] = model_options;
    arm["schedule"] = schedule;
    arm["schedule_options"] = schedule_options;
    return runs(read(table))[0].canary;
  }
  Json mixed(const Json& options) { return canary("mixed", options, "cosine", Json::object()); }
  Json warmed(const Json& options) { return canary("gpt", Json::object(), "wsd", options); }
};

TEST_F(CanaryConfig, OfAnArmThatFitsIsWhatItWasWhenTheFirstRecordsWereWritten) {
  const auto planned = runs(read(table_file()));
  Json expected = planned[0].config;
  expected.update(Json{{"peak_lr", 0.01},
                       {"batch_sequences", 4},
                       {"micro_batch_sequences", 2},
                       {"token_budget", 2560},
                       {"dataset", "canary"},
                       {"train_digest", ""},
                       {"validation_digest", ""},
                       {"validation_tokens", 128},
                       {"divergence", {{"loss_above", 100.0}}},
                       {"seed", 0}});
  expected["size"] = sizes_file()["sizes"]["micro"];
  expected["size"]["vocabulary"] = 97;
  EXPECT_EQ(planned[0].canary, expected);
  // Nothing that fits is touched: fewer warm-up steps than the canary has, two heads of keys of
  // two.
  EXPECT_EQ(warmed({{"warmup_steps", 19}, {"decay_fraction", 0.0}})["schedule_options"],
            (Json{{"warmup_steps", 19}, {"decay_fraction", 0.0}}));
  for (const Json& fits :
       {Json{{"warmup_steps", 16}, {"decay_fraction", 0.2}},
        Json{{"warmup_steps", 0}, {"decay_fraction", 1.0}},
        Json{{"warmup_steps", 0}, {"warmup_fraction", 0.8}, {"decay_fraction", 0.2}},
        Json{{"warmup_steps", 0}, {"warmup_fraction", 0.95}, {"decay_fraction", 0.0}}})
    EXPECT_EQ(warmed(fits)["schedule_options"], fits);
  EXPECT_EQ(mixed({{"num_kv_heads", 2}, {"chunk", 8}})["model_options"],
            (Json{{"pattern", "AB"}, {"num_kv_heads", 2}, {"chunk", 8}}));
}

TEST_F(CanaryConfig, HoldsEveryKindOfLayerOfAPattern) {
  const auto layers = [&](const std::string& pattern) {
    return mixed({{"pattern", pattern}})["size"]["num_layers"].get<int64_t>();
  };
  EXPECT_EQ(layers("AB"), 2);
  EXPECT_EQ(layers("A"), 2) << "never fewer than the micro size has";
  EXPECT_EQ(layers("ABA*B"), 4);
  EXPECT_EQ(layers("ABABABAB*"), 9);
}

TEST_F(CanaryConfig, RunsMoreThanOneChunk) {
  EXPECT_EQ(mixed({{"chunk", 64}})["model_options"]["chunk"], 64);  // no layer has chunks
  const Json canary = mixed({{"pattern", "MB"}, {"chunk", 64}});
  EXPECT_EQ(canary["model_options"]["chunk"], 16);
  EXPECT_GT(canary["size"]["context"].get<int>(), canary["model_options"]["chunk"].get<int>());
}

TEST_F(CanaryConfig, SharesHeadsOfKeysAsFarAsItHasThem) {
  const auto kv_heads = [&](int heads) {
    return mixed({{"num_kv_heads", heads}})["model_options"]["num_kv_heads"].get<int>();
  };
  EXPECT_EQ(kv_heads(0), 0);
  EXPECT_EQ(kv_heads(1), 1);
  EXPECT_EQ(kv_heads(4), 1) << "two queries a key, as in 8 heads with 4";
  EXPECT_EQ(kv_heads(8), 2) << "a key for each query";
  EXPECT_THROW(mixed({{"num_kv_heads", 3}}), UserError);
}

TEST_F(CanaryConfig, TurnsAWholeNumberOfPairsOfItsSmallerHead) {
  const auto entries = [&](double fraction) {
    const Json turned = canary("turned", {{"rope_fraction", fraction}}, "cosine", Json::object());
    return 16 * turned["model_options"]["rope_fraction"].get<double>();
  };
  EXPECT_EQ(entries(1), 16);
  EXPECT_EQ(entries(0.5), 8);
  EXPECT_EQ(entries(0.1875), 4) << "12 entries of 64, 3 of 16";
  EXPECT_EQ(entries(0.03125), 2) << "2 entries of 64";
}

TEST_F(CanaryConfig, WarmsUpInFewerStepsThanItHas) {
  const auto warmup = [&](int steps, double decay) {
    return warmed({{"warmup_steps", steps},
                   {"decay_fraction", decay}})["schedule_options"]["warmup_steps"]
        .get<int>();
  };
  EXPECT_EQ(warmup(2000, 0.2), 10);
  EXPECT_EQ(warmup(20, 0.2), 10);
  EXPECT_EQ(warmup(2000, 0.9), 2) << "18 of 20 steps decay";
  EXPECT_EQ(warmup(15, 0.5), 10) << "15 and 10 steps are more than 20";
  EXPECT_EQ(warmup(2, 1.0), 0);
}

TEST_F(CanaryConfig, WarmsUpForAFractionThatTheDecayLeaves) {
  const auto warmup = [&](double fraction, double decay) {
    return warmed({{"warmup_fraction", fraction},
                   {"decay_fraction", decay}})["schedule_options"]["warmup_fraction"]
        .get<double>();
  };
  EXPECT_EQ(warmup(0.025, 0.975), 0.0) << "1 and 20 steps of 20, by rounding";
  EXPECT_EQ(warmup(0.35, 0.7), 0.3);
  EXPECT_EQ(warmup(0.99, 0.0), 0.95) << "20 of 20 steps, by rounding";
}

}  // namespace
}  // namespace normbench
