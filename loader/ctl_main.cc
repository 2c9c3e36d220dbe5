// SPDX-License-Identifier: GPL-2.0-only
// stewardctl: run, turn the status into an exit status.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "loader/ctl.h"

int main(int argc, char** argv) {
  absl::Status status = steward::RunCtl(std::vector<std::string>(argv + 1, argv + argc), std::cout);
  if (status.ok() && !std::cout.flush()) {
    status = absl::DataLossError("the output could not be written");
  }
  if (status.ok()) return EXIT_SUCCESS;
  std::cerr << "stewardctl: " << status.message() << '\n';
  return EXIT_FAILURE;
}
