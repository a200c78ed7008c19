// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
void OpTracker::unregister_inflight_op(TrackedOp* const i)
{
  delete i;
}
