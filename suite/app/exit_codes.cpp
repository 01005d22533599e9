#include "suite/app/exit_codes.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>

namespace normbench {
namespace {

/// What was printed is the result of most commands. std::cout writes into stdout's buffer, and
/// nobody looks at the file behind it before the process ends.
void flush_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return;
  throw MachineError({.what = "the output cannot be written",
                      .where = "standard output",
                      .found = errno != 0 ? std::strerror(errno) : ""});
}

}  // namespace

int exit_code_of(const std::function<int()>& body) {
  const auto say = [](const char* kind, const std::exception& e) {
    std::cerr << kind << e.what() << std::endl;
  };
  try {
    const int code = body();
    flush_output();
    return code;
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
  } catch (const std::filesystem::filesystem_error& e) {  // a folder without rights, mostly
    say("machine error: ",
        MachineError({.what = "a file or folder cannot be used",
                      .where = e.path1().string(),
                      .found = e.code().message(),
                      .todo = "make it and the folders above it readable and writable for this "
                              "user (chown, chmod), or move away what lies there"}));
    return kExitMachine;
  } catch (const std::system_error& e) {  // of fmt::print into a full disk
    say("machine error: ", e);
    return kExitMachine;
  } catch (const std::exception& e) {
    const std::string text = e.what();  // LibTorch appends a page of its own frames
    std::cerr << "internal error (please report it): "
              << text.substr(0, text.find("\nException raised from")) << std::endl;
    return 70;
  }
}

}  // namespace normbench
