// SPDX-License-Identifier: MIT
#include "standin.h"
#include <list>
struct ReplicatedPG {
  struct OpContext {
    OpRequestRef op;
    uint64_t bytes_written, bytes_read;
  };
  std::list<OpRequestRef> waiting_for_cache_not_full;
  void execute_ctx(OpContext *ctx) { log_op_stats(ctx); }
  void do_op(OpRequestRef& op);
  void log_op_stats(OpContext *ctx);
  void wait_for_unreadable_object(
    const hobject_t& soid, OpRequestRef op);
  void wait_for_degraded_object(const hobject_t& soid, OpRequestRef op);
  void wait_for_blocked_object(const hobject_t& soid, OpRequestRef op);
  bool maybe_handle_cache(OpRequestRef op, bool full, bool write_ordered);
  void promote_object(const hobject_t& missing_oid,
                      OpRequestRef op);
  void do_proxy_read(OpRequestRef op);
  void do_proxy_write(OpRequestRef op, const hobject_t& missing_oid);
};
void ReplicatedPG::do_op(OpRequestRef& op)
{
  OpContext context = {op, 0, 0}, *ctx = &context;
  execute_ctx(ctx);
}
void ReplicatedPG::log_op_stats(OpContext *ctx)
{
  ctx->bytes_written = 0;
}
void ReplicatedPG::wait_for_unreadable_object(
  const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
void ReplicatedPG::wait_for_degraded_object(const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
void ReplicatedPG::wait_for_blocked_object(const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
bool ReplicatedPG::maybe_handle_cache(OpRequestRef op, bool full, bool write_ordered)
{
  if (full) {
    waiting_for_cache_not_full.push_back(op);
    return true;
  }
  if (write_ordered) {
    waiting_for_cache_not_full.push_back(op);
    return true;
  }
  return false;
}
void ReplicatedPG::promote_object(const hobject_t& missing_oid,
                                  OpRequestRef op)
{
  wait_for_blocked_object(missing_oid, op);
}
void ReplicatedPG::do_proxy_read(OpRequestRef op)
{
  (void)op;
}
void ReplicatedPG::do_proxy_write(OpRequestRef op, const hobject_t& missing_oid)
{
  (void)op, (void)missing_oid;
}
