#include "suite/base/json.h"

#include <gtest/gtest.h>

namespace normbench {
namespace {

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Json, UnknownKeyNamesFilePathAndTheNearestKnownKey) {
  const Json value = parse_json(R"({"tiers": {"cpu": {"sedes": [1]}}})", "table.json");
  const JsonObject cpu = JsonObject(value, "table.json").object("tiers").object("cpu");
  cpu.optional<std::vector<int64_t>>("seeds", {});
  const std::string message = message_of([&] { cpu.finish(); });
  EXPECT_NE(message.find("table.json, at /tiers/cpu/sedes"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean \"seeds\"?"), std::string::npos) << message;
}

TEST(Json, WrongTypeSaysWhatWasFoundAndExpected) {
  const Json value = parse_json(R"({"width": "64"})", "size.json");
  const std::string message =
      message_of([&] { JsonObject(value, "size.json").required<int64_t>("width"); });
  EXPECT_NE(message.find("found:    \"64\""), std::string::npos) << message;
  EXPECT_NE(message.find("expected: an integer"), std::string::npos) << message;
}

TEST(Json, AKeyThatStandsTwiceIsAnError) {
  const std::string message = message_of([] {
    parse_json(R"({"arms": [1, {"b": []}, {"c": [2], "note": 1, "note": 2}]})", "x.json");
  });
  EXPECT_NE(message.find("x.json, at /arms/2/note"), std::string::npos) << message;
  EXPECT_NO_THROW(parse_json(R"([{"a": 1}, {"a": 2}])", "x.json"));
}

/// Whoever walks through it does so by recursion.
TEST(Json, WhatIsNestedWithoutEndIsAnError) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_NO_THROW(parse_json(nested(100), "x.json"));
  for (const size_t levels : {size_t{101}, size_t{1'000'000}})
    EXPECT_NE(message_of([&] { parse_json(nested(levels), "x.json"); }).find("too deep"),
              std::string::npos);
}

TEST(Json, SyntaxErrorHasLineAndColumn) {
  const std::string message = message_of([] { parse_json("{\n  \"a\": 1,\n  ]\n}", "x.json"); });
  EXPECT_NE(message.find("x.json:3:3"), std::string::npos) << message;
}

TEST(Json, ASyntaxErrorSaysItsPlaceOnceAndInOurWords) {
  struct Wrong {
    std::string text, place;
  };
  for (const Wrong& wrong :
       {Wrong{"x", "x.json:1:1\n"}, Wrong{"", "x.json:1:1\n"}, Wrong{"[1, x]", "x.json:1:5\n"},
        Wrong{"[1,\nx]", "x.json:2:1\n"}, Wrong{"\n", "x.json:2:1\n"}}) {
    const std::string message = message_of([&] { parse_json(wrong.text, "x.json"); });
    EXPECT_NE(message.find(wrong.place), std::string::npos) << wrong.text << "\n" << message;
    EXPECT_NE(message.find("found:    syntax error"), std::string::npos) << message;
    for (const char* foreign : {"json.exception", "parse error at line"})
      EXPECT_EQ(message.find(foreign), std::string::npos) << message;
  }
}

TEST(Json, ANumberThatNoVariableCanHoldIsAnErrorWithItsPlace) {
  const std::string message = message_of([] { parse_json("{\n  \"rate\": 1e999\n}", "x.json"); });
  EXPECT_NE(message.find("x.json:2:11\n"), std::string::npos) << message;
  EXPECT_NE(message.find("found:    1e999"), std::string::npos) << message;
  const Json large = parse_json(R"({"seed": 18446744073709551615})", "x.json");
  EXPECT_NE(message_of([&] {
              JsonObject(large, "x.json").required<int64_t>("seed");
            }).find("expected: an integer"),
            std::string::npos);
}

TEST(Json, CanonicalFormDoesNotDependOnTheOrderOfKeys) {
  EXPECT_EQ(canonical(Json::parse(R"({"b": 0.1, "a": [1, 2.0]})")), R"({"a":[1,2.0],"b":0.1})");
  EXPECT_THROW(canonical(Json(std::nan(""))), UserError);
}

TEST(Json, PrettyTextReadsBackAndKeepsShortThingsOnOneLine) {
  const Json value = {{"text", "a\"b: c, \\"}, {"rates", {{1048576, 0.016}, {8388608, 0.0113}}}};
  EXPECT_EQ(pretty(value),
            "{\"rates\": [[1048576, 0.016], [8388608, 0.0113]], \"text\": \"a\\\"b: c, \\\\\"}");
  EXPECT_EQ(Json::parse(pretty(value, 0, 20)), value);
  EXPECT_NE(pretty(value, 0, 20).find("\n    [1048576, 0.016],"), std::string::npos);
}

}  // namespace
}  // namespace normbench
