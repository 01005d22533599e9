// What a checkpoint's file is called: known to the trainer that writes it and to the planner that
// sees from it how far a run has come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace normbench {

/// How the names of checkpoints begin, of those too that a kill left half written.
inline constexpr std::string_view kCheckpointPrefix = "checkpoint_";

/// "checkpoint_000000000064.safetensors" for step 64: names sort like steps up to 10^12 - 1.
std::string checkpoint_name(int64_t step);
/// The step; nothing for the name of another file or of one that is half written.
std::optional<int64_t> checkpoint_step(std::string_view file_name);

}  // namespace normbench
