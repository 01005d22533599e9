#pragma once

#include <string>

#include "suite/app/project.h"

namespace normbench {

struct DoctorCommand {
  std::string device;  // "cpu" or "cuda": only this question; exit 77 when it cannot be used
};
/// What this machine is, which tiers it can run, what is missing and how to get it. kExitMachine
/// when it can run nothing.
int doctor_command(const Project& project, const DoctorCommand& request);

/// Why the tiers gpu and paper cannot run here; empty when they can, as far as can be said without
/// LibTorch: there is an NVIDIA device, and this build has code for it.
std::string why_no_gpu(const Project& project);

}  // namespace normbench
