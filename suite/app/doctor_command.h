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

/// Is there an NVIDIA device? Whether LibTorch can use it, the worker finds out.
bool gpu_present();

}  // namespace normbench
