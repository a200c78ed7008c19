// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
namespace librbd {
namespace cache {
template <typename I>
struct ObjectCacherObjectDispatch {
  std::mutex m_cache_lock;
  I m_object_cacher;
  bool read(uint64_t object_no);
  bool write(uint64_t object_no, bool check);
};
template <typename I>
bool ObjectCacherObjectDispatch<I>::read(uint64_t object_no) {
  m_cache_lock.lock();
  int r = m_object_cacher + (int)object_no;
  m_cache_lock.unlock();
  return r == 0;
}
template <typename I>
bool ObjectCacherObjectDispatch<I>::write(uint64_t object_no, bool check) {
  if (check) {
    std::lock_guard locker{m_cache_lock};
    return true;
  }
  std::lock_guard locker{m_cache_lock};
  return object_no == 0;
}
} // namespace cache
} // namespace librbd
template struct librbd::cache::ObjectCacherObjectDispatch<int>;
