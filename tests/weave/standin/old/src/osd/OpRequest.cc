// SPDX-License-Identifier: MIT
#include "standin.h"
OpRequest::OpRequest(Message *req, OpTracker *tracker) :
  request(req) {
  (void)tracker;
}

void OpTracker::unregister_inflight_op(OpRequest *i)
{
  delete i;
}
