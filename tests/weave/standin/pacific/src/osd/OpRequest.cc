// SPDX-License-Identifier: MIT
#include "standin.h"
OpRequest::OpRequest(Message* req, OpTracker* tracker)
  : request(req),
    reqid{} {
  (void)tracker;
}
