// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
OpRequest::OpRequest(Message* req, OpTracker* tracker)
  : request(req),
    reqid{} {
  (void)tracker;
}
