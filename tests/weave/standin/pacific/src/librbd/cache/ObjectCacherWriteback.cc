// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
namespace librbd {
namespace cache {
class C_ReadRequest {
public:
  C_ReadRequest(std::mutex *cache_lock) : m_cache_lock(cache_lock) {}
  virtual ~C_ReadRequest() = default;
  virtual void finish(int r) {
    {
      std::lock_guard cache_locker{*m_cache_lock};
      (void)r;
    }
  }
private:
  std::mutex *m_cache_lock;
};
} // namespace cache
} // namespace librbd
