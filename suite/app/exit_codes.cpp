#include "suite/app/exit_codes.h"

#include <filesystem>
#include <iostream>
#include <new>

namespace normbench {

int exit_code_of(const std::function<int()>& body) {
  const auto say = [](const char* kind, const std::exception& e) {
    std::cerr << kind << e.what() << std::endl;
  };
  try {
    return body();
  } catch (const UserError& e) {
    say("error: ", e);
    return kExitWrongUse;
  } catch (const MachineError& e) {
    say("machine error: ", e);
    return kExitMachine;
  } catch (const Interrupted& e) {
    say("", e);
    return kExitInterrupted;
  } catch (const std::bad_alloc& e) {
    std::cerr << "machine error: out of memory\n";
    return kExitMachine;
  } catch (const std::filesystem::filesystem_error& e) {
    say("machine error: ", e);
    return kExitMachine;
  } catch (const std::exception& e) {
    say("internal error (please report it): ", e);
    return 70;
  }
}

}  // namespace normbench
