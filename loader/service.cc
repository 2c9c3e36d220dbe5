// SPDX-License-Identifier: GPL-2.0-only
#include "loader/service.h"

#if STEWARD_HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace steward {
namespace {

void Notify([[maybe_unused]] const char* state) {
#if STEWARD_HAVE_SYSTEMD
  sd_notify(/*unset_environment=*/0, state);
#endif
}

}  // namespace

void NotifyReady() { Notify("READY=1"); }

void NotifyStopping() { Notify("STOPPING=1"); }

}  // namespace steward
