// SPDX-License-Identifier: MIT
#include "standin.h"
void OpTracker::unregister_inflight_op(TrackedOp* const i)
{
  delete i;
}
