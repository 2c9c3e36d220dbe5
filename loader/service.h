// SPDX-License-Identifier: GPL-2.0-only
// Tells systemd how the service is; does nothing when not run by systemd or built without it.
#pragma once

namespace steward {

void NotifyReady();
void NotifyStopping();

}  // namespace steward
