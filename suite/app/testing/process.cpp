#include "suite/app/testing/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "suite/base/files.h"

namespace normbench::testing {
namespace {

pid_t start(const std::vector<std::string>& arguments, const std::string& directory,
            const std::string& out, const std::string& err) {
  std::vector<char*> raw;
  std::vector<std::string> copy = arguments;
  for (auto& argument : copy) raw.push_back(argument.data());
  raw.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    const int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(out_fd, STDOUT_FILENO);
    ::dup2(err_fd, STDERR_FILENO);
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }
  return pid;
}

}  // namespace

ProcessResult run_program(const std::vector<std::string>& arguments, const std::string& directory) {
  const TemporaryFolder folder;
  const pid_t pid = start(arguments, directory, folder.path() + "/out", folder.path() + "/err");
  int status = 0;
  ::waitpid(pid, &status, 0);
  ProcessResult result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.out = read_file(folder.path() + "/out");
  result.err = read_file(folder.path() + "/err");
  return result;
}

pid_t start_program(const std::vector<std::string>& arguments, const std::string& directory) {
  return start(arguments, directory, "/dev/null", "/dev/null");
}

int wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace normbench::testing
