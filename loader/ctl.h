// SPDX-License-Identifier: GPL-2.0-only
// stewardctl: the client of the control socket.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace steward {

// args without the program's name. Results go to `out`; an error is one sentence.
absl::Status RunCtl(std::vector<std::string> args, std::ostream& out);

}  // namespace steward
