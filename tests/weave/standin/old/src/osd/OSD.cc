// SPDX-License-Identifier: MIT
#include "standin.h"
struct PG;
struct OSDService {
  void reply_op_error(OpRequestRef op, int err);
  void reply_op_error(OpRequestRef op, int err, eversion_t v);
};
struct OSD {
  void enqueue_op(PG *pg, OpRequestRef op);
  void dequeue_op(
    PG *pg, OpRequestRef op,
    ThreadPool::TPHandle &handle);
};
void OSDService::reply_op_error(OpRequestRef op, int err)
{
  reply_op_error(op, err, eversion_t());
}
void OSDService::reply_op_error(OpRequestRef op, int err, eversion_t v)
{
  (void)op, (void)err, (void)v;
}
void OSD::enqueue_op(PG *pg, OpRequestRef op)
{
  (void)pg, (void)op;
}
void OSD::dequeue_op(
  PG *pg, OpRequestRef op,
  ThreadPool::TPHandle &handle)
{
  (void)pg, (void)op, (void)handle;
}
