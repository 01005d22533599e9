#include "data/batches.h"

#include <numeric>
#include <set>

#include "data/testing.h"

namespace normbench {
namespace {

/// Token i of a split is i (training) or 1000000 + i (validation): a batch shows where it was taken
/// from.
class CountingSource : public TokenSource {
 public:
  CountingSource(int64_t train, int64_t validation) : train_(train), validation_(validation) {}
  int64_t vocabulary() const override { return 2'000'000; }
  int64_t num_train_tokens() const override { return train_; }
  int64_t num_validation_tokens() const override { return validation_; }
  void read_train(int64_t offset, int64_t count, int64_t* out) const override {
    ASSERT_LE(offset + count, train_);
    std::iota(out, out + count, offset);
  }
  void read_validation(int64_t offset, int64_t count, int64_t* out) const override {
    ASSERT_LE(offset + count, validation_);
    std::iota(out, out + count, 1'000'000 + offset);
  }
  std::string train_digest() const override { return {}; }
  std::string validation_digest() const override { return {}; }

 private:
  int64_t train_, validation_;
};

TEST(Batches, ABatchIsAPureFunctionOfSeedAndStep) {
  const CountingSource source(10'001, 100);
  const Batches a(source, 8, 4, /*seed=*/7), b(source, 8, 4, /*seed=*/7);
  b.step(900, 0, 4);  // what was read before does not matter
  for (const int64_t step : {0, 1, 311, 312, 5000})
    EXPECT_EQ(a.step(step, 0, 4).tokens, b.step(step, 0, 4).tokens);
  EXPECT_NE(a.step(0, 0, 4).tokens, a.step(1, 0, 4).tokens);
  EXPECT_NE(a.step(0, 0, 4).tokens, Batches(source, 8, 4, /*seed=*/8).step(0, 0, 4).tokens);
}

TEST(Batches, MicroBatchesAreSlicesOfTheWholeBatch) {
  const CountingSource source(10'001, 100);
  const Batches batches(source, 8, 6, 0);
  const Batch whole = batches.step(17, 0, 6);
  std::vector<int64_t> joined;
  for (const int64_t first : {0, 2, 4}) {
    const Batch part = batches.step(17, first, 2);
    joined.insert(joined.end(), part.tokens.begin(), part.tokens.end());
  }
  EXPECT_EQ(joined, whole.tokens);
}

TEST(Batches, NoWindowRepeatsWithinAnEpochAndEveryTokenIsPredictedOnce) {
  const CountingSource source(8 * 125 + 1, 100);
  const Batches batches(source, 8, 5, 3);
  ASSERT_EQ(batches.windows_per_epoch(), 125);
  for (const int64_t epoch : {0, 1}) {
    std::set<int64_t> targets;
    for (int64_t step = 25 * epoch; step < 25 * (epoch + 1); ++step) {
      const Batch batch = batches.step(step, 0, 5);
      for (int64_t s = 0; s < 5; ++s)
        for (int64_t t = 1; t <= 8; ++t)
          targets.insert(batch.tokens[static_cast<size_t>(s * 9 + t)]);
    }
    EXPECT_EQ(targets.size(), 1000u);
    EXPECT_EQ(*targets.begin(), 1);
    EXPECT_EQ(*targets.rbegin(), 1000);
  }
  EXPECT_NE(batches.step(0, 0, 5).tokens, batches.step(25, 0, 5).tokens)
      << "each epoch has its own order";
}

TEST(Batches, ATargetIsTheTokenAfterItsInputAndTheCountIsExact) {
  const CountingSource source(10'001, 100);
  const Batch batch = Batches(source, 16, 4, 0).step(5, 0, 4);
  EXPECT_EQ(batch.num_sequences, 4);
  EXPECT_EQ(batch.context, 16);
  EXPECT_EQ(batch.num_predicted(), 64);
  ASSERT_EQ(batch.tokens.size(), 4u * 17);
  for (size_t s = 0; s < 4; ++s)
    for (size_t t = 0; t < 16; ++t)
      EXPECT_EQ(batch.tokens[s * 17 + t + 1], batch.tokens[s * 17 + t] + 1);
}

TEST(Batches, TooShortATextIsAnError) {
  const CountingSource source(8, 8);
  expect_words(user_error_of([&] { Batches(source, 8, 1, 0); }),
               {"shorter than one window", "8 tokens", "9"});
}

TEST(ValidationSlice, IsTheFrontOfTheSplitAndItsDigestCoversExactlyItsTokens) {
  const CountingSource longer(100, 5000), shorter(100, 65);
  const ValidationSlice slice(longer, 16, 64);
  EXPECT_EQ(slice.num_windows(), 4);
  EXPECT_EQ(slice.windows(1, 1).tokens.front(), 1'000'016);
  EXPECT_EQ(slice.digest(), ValidationSlice(shorter, 16, 64).digest());
  EXPECT_EQ(slice.digest(), ValidationSlice(longer, 32, 64).digest())
      << "the same tokens in other windows";
  EXPECT_NE(slice.digest(), ValidationSlice(longer, 16, 80).digest());
}

TEST(ValidationSlice, RefusesTooShortASplitAndBrokenWindows) {
  const CountingSource source(100, 64);
  expect_words(user_error_of([&] { ValidationSlice(source, 16, 64); }),
               {"shorter than the slice", "64", "65"});
  expect_words(user_error_of([&] { ValidationSlice(source, 16, 50); }),
               {"multiple of the context"});
}

}  // namespace
}  // namespace normbench
