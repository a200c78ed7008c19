// SPDX-License-Identifier: MIT
#include "standin.h"
struct TrackedOps {};
void OpTracker::unregister_inflight_op(OpRequest *i)
{
  delete i;
}
