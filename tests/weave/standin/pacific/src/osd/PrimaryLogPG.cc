// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct PrimaryLogPG {
  struct OpContext {
    OpRequestRef op;
    uint64_t bytes_written, bytes_read;
  };
  void execute_ctx(OpContext *ctx) { log_op_stats(*ctx->op.get(), ctx->bytes_written, ctx->bytes_read); }
  void do_op(OpRequestRef& op);
  void log_op_stats(const OpRequest& op,
                    const uint64_t inb,
                    const uint64_t outb);
  void wait_for_unreadable_object(
    const hobject_t& soid, OpRequestRef op);
  void wait_for_degraded_object(const hobject_t& soid, OpRequestRef op);
  void wait_for_blocked_object(const hobject_t& soid, OpRequestRef op);
  void block_write_on_full_cache(
    const hobject_t& oid, OpRequestRef op);
  void promote_object(const hobject_t& missing_oid, OpRequestRef op);
  void do_proxy_read(OpRequestRef op, void *obc);
  void do_proxy_write(OpRequestRef op, void *obc);
};
void PrimaryLogPG::do_op(OpRequestRef& op)
{
  OpContext context{op, 0, 0}, *ctx = &context;
  execute_ctx(ctx);
}
void PrimaryLogPG::log_op_stats(const OpRequest& op,
                                const uint64_t inb,
                                const uint64_t outb)
{
  (void)op, (void)inb, (void)outb;
}
void PrimaryLogPG::wait_for_unreadable_object(
  const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
void PrimaryLogPG::wait_for_degraded_object(const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
void PrimaryLogPG::wait_for_blocked_object(const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
void PrimaryLogPG::block_write_on_full_cache(
  const hobject_t& oid, OpRequestRef op)
{
  (void)oid, (void)op;
}
void PrimaryLogPG::promote_object(const hobject_t& missing_oid, OpRequestRef op)
{
  (void)missing_oid, (void)op;
}
void PrimaryLogPG::do_proxy_read(OpRequestRef op, void *obc)
{
  (void)op, (void)obc;
}
void PrimaryLogPG::do_proxy_write(OpRequestRef op, void *obc)
{
  (void)op, (void)obc;
}
