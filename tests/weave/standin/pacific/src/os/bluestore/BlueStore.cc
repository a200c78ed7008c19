// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct BlueStore {
  struct TransContext {
    uint64_t cost;
  };
  struct BlueStoreThrottle {
    bool try_start_transaction(TransContext &txc);
  };
  int queue_transactions(std::vector<int>& tls, TrackedOpRef op);
  void _txc_add_transaction(TransContext *txc, int t);
  void _txc_aio_submit(TransContext *txc);
  void _txc_finish_io(TransContext *txc);
  void _txc_apply_kv(TransContext *txc, bool sync_submit_transaction);
  void _txc_committed_kv(TransContext *txc);
  int read(uint64_t offset);
};
int BlueStore::queue_transactions(std::vector<int>& tls, TrackedOpRef op)
{
  TransContext txc{0};
  for (int t : tls)
    _txc_add_transaction(&txc, t);
  return op ? 0 : 1;
}
void BlueStore::_txc_add_transaction(TransContext *txc, int t)
{
  txc->cost += t;
}
void BlueStore::_txc_aio_submit(TransContext *txc)
{
  txc->cost++;
}
void BlueStore::_txc_finish_io(TransContext *txc)
{
  txc->cost++;
}
void BlueStore::_txc_apply_kv(TransContext *txc, bool sync_submit_transaction)
{
  txc->cost += sync_submit_transaction;
}
void BlueStore::_txc_committed_kv(TransContext *txc)
{
  txc->cost++;
}
int BlueStore::read(uint64_t offset)
{
  return (int)offset;
}
bool BlueStore::BlueStoreThrottle::try_start_transaction(
  TransContext &txc)
{
  return txc.cost > 0;
}
