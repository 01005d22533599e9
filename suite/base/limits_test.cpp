#include "suite/base/limits.h"

#include <gtest/gtest.h>

#include "suite/base/options.h"

namespace normbench {
namespace {

struct Toy {
  double share = 0.5;
  int64_t count = 3;
  double rate = 0;
  std::string mode = "plain";
  std::vector<std::string> parts;
  bool on = true;
  template <class Visitor>
  void fields(Visitor& v) {
    v.number("share", share, share_below_one());
    v.number("count", count, at_least(1));
    v.number("rate", rate, between(0, 2));
    v.choice("mode", mode, {"plain", "fused"});
    v.words("parts", parts, {"q", "k"});
    v.field("on", on);
  }
};

std::string message(const Json& json) {
  try {
    read_options<Toy>(JsonObject(json, "table.json", "/arms/a"));
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Limits, ValuesAtTheirEndsAreAccepted) {
  for (const Json& json : {Json{{"share", 0}}, Json{{"share", 0.999}}, Json{{"count", 1}},
                           Json{{"rate", 0}}, Json{{"rate", 2}}, Json{{"mode", "fused"}},
                           Json{{"parts", {"k", "q"}}}, Json{{"parts", Json::array()}}})
    EXPECT_EQ(message(json), "accepted") << json;
}

TEST(Limits, ValuesBeyondThemAreNamedWithWhatTheyMayBe) {
  const std::pair<Json, const char*> wrong[] = {{{{"share", 1}}, "0 or more and below 1"},
                                                {{{"share", -1e-9}}, "/arms/a/share"},
                                                {{{"count", 0}}, "1 or more"},
                                                {{{"rate", 2.5}}, "at most 2"},
                                                {{{"mode", "fusd"}}, "did you mean \"fused\"?"},
                                                {{{"parts", {"q", "w1"}}}, "one of: q, k"},
                                                {{{"parts", {"q", "q"}}}, "twice"}};
  for (const auto& [json, part] : wrong)
    EXPECT_NE(message(json).find(part), std::string::npos) << message(json);
}

TEST(Limits, AreCheckedInOptionsThatNoFileGave) {
  check_limits(Toy{}, "toy");
  try {
    check_limits(Toy{.count = 0}, "toy");
    FAIL() << "accepted";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("an option of toy is out of range"), std::string::npos);
  }
}

TEST(Limits, StandInTheRegistryForThePlanner) {
  const Json limits = option_limits<Toy>();
  EXPECT_EQ(limits.size(), 5u);  // none of `on`
  EXPECT_TRUE(limit_fault(limits["share"], 1.0).has_value());
  EXPECT_FALSE(limit_fault(limits["share"], 0.0).has_value());
  EXPECT_TRUE(limit_fault(limits["parts"], Json{1, 2}).has_value());
}

TEST(Limits, NoNumberIsLargerThanAnyTensorCanHold) {
  for (const Json& limit : {Json(), at_least(0), above(0)}) {
    EXPECT_FALSE(limit_fault(limit, 1e30).has_value()) << limit;
    EXPECT_TRUE(limit_fault(limit, 1e31).has_value()) << limit;
  }
  EXPECT_TRUE(limit_fault(Json(), -1e31).has_value());
  EXPECT_FALSE(limit_fault(Json(), "1e31").has_value());
}

TEST(Limits, AWholeNumberWithoutAnUpperEndEndsAtAMillion) {
  EXPECT_EQ(message({{"count", 1'000'000}}), "accepted");
  for (const int64_t count : {int64_t{1'000'001}, int64_t{1'000'000'000'000'000'000}})
    EXPECT_NE(message({{"count", count}}).find("1 or more and at most 1000000"), std::string::npos)
        << message({{"count", count}});
  EXPECT_TRUE(limit_fault(Json(), 1'000'001).has_value());
  EXPECT_FALSE(limit_fault(at_least(0), 1e7).has_value()) << "this one is no whole number";
  EXPECT_FALSE(limit_fault(between(1, 1e10), 8'000'000).has_value()) << "it has an end of its own";
  EXPECT_TRUE(limit_fault({{"each", at_least(0)}}, Json{0, 1'000'001}).has_value());
}

TEST(Limits, TheTextOfAWholeNumberReadsBackAsItself) {
  EXPECT_EQ(whole_number("8192"), 8192);
  EXPECT_EQ(whole_number("0"), 0);
  EXPECT_EQ(whole_number("-3"), -3);
  EXPECT_EQ(whole_number("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", "08192", "+8192", " 8192", "8192 ", "8e3", "0x10", "8192.0", "-0",
                           "x", "9223372036854775808", "99999999999999999999"})
    EXPECT_EQ(whole_number(text), std::nullopt) << text;
}

}  // namespace
}  // namespace normbench
