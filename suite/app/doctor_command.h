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

/// Why a tier of this device cannot run here, as far as can be said without LibTorch; empty when it
/// can: a GPU needs an NVIDIA device and a build with code for it, a CPU is always there.
std::string why_no_device(const Project& project, const std::string& device);

}  // namespace normbench
