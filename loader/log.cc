// SPDX-License-Identifier: GPL-2.0-only
#include "loader/log.h"

#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace steward {

void StartLog(int verbosity) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("scx_steward"));
  spdlog::set_pattern("%n: %^%l%$: %v");
  spdlog::set_level(verbosity > 0 ? spdlog::level::debug : spdlog::level::info);
}

}  // namespace steward
