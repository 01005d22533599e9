#include "suite/base/names.h"

#include <gtest/gtest.h>

namespace normbench {
namespace {

TEST(Names, WhatMayBeOne) {
  for (const auto& name : std::vector<std::string>{"a", "7b", "nGPT-2.v_1", std::string(100, 'x')})
    EXPECT_TRUE(is_plain_name(name)) << name;
  for (const auto& name :
       std::vector<std::string>{"", "_a", "-a", ".", "..", "a b", "a/b", "a\n", "\xC3\xA4", "a;b",
                                "a[b", std::string("a\0b", 3), std::string(101, 'x')})
    EXPECT_FALSE(is_plain_name(name)) << name;
}

TEST(Names, TheNearestOneIsOffered) {
  const std::vector<std::string> known = {"angpt", "gpt_plus", "ngpt"};
  EXPECT_EQ(did_you_mean("nGPT", {"ngpt"}, "no"), "no");  // three of four letters differ
  EXPECT_EQ(did_you_mean("angtp", known), "did you mean \"angpt\"?");
  EXPECT_EQ(did_you_mean("gpt-plus", known), "did you mean \"gpt_plus\"?");
  EXPECT_EQ(did_you_mean("mamba2", known, "see --help"), "see --help");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(Names, AnUnknownOneIsAnErrorWithAllThatAreKnown) {
  const Json json = {{"model", "angtp"}};
  const JsonObject object(json, "table.json", "/arms/a");
  const std::vector<std::string> known = {"angpt", "ngpt"};
  require_known(object, "model", "unknown model", "ngpt", known);
  try {
    require_known(object, "model", "unknown model", "angtp", known);
    FAIL() << "no error";
  } catch (const UserError& e) {
    const std::string message = e.what();
    for (const char* part : {"unknown model", "table.json", "/arms/a/model", "\"angtp\"",
                             "one of: angpt, ngpt", "did you mean \"angpt\"?"})
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
  }
  EXPECT_EQ(one_of({}), "");
}

}  // namespace
}  // namespace normbench
