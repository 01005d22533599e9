#pragma once

#include <string>

#include "suite/app/project.h"

namespace normbench {

struct PublishCommand {
  std::string tier, only;
};
/// Copies the usable records of a tier to results/published/<paper>.<table>.<tier>/ with the ledger
/// as text and JSON, and writes the overview of all published ledgers. Throws UserError that names
/// every record that exists and is damaged or stale, and then leaves what was published before,
/// ledger included, as it is. Canaries that are not known are run first: records of another build
/// are refused.
int publish_command(const Project& project, const PublishCommand& request);

}  // namespace normbench
