// SPDX-License-Identifier: GPL-2.0-only
// Early return on error. Lower layers return a Status; the top alone prints it.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RETURN_IF_ERROR(expr)                                                           \
  do {                                                                                  \
    if (absl::Status status_macro_ = (expr); !status_macro_.ok()) return status_macro_; \
  } while (false)

#define STEWARD_CONCAT_(a, b) a##b
#define STEWARD_CONCAT(a, b) STEWARD_CONCAT_(a, b)

#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_(STEWARD_CONCAT(or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_(tmp, lhs, expr)        \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)
