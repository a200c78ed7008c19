/* SPDX-License-Identifier: MIT
 * Names as the shipped rules expect them in a Ceph 16.2; what they do is ours. */
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#define CEPH_MSG_OSD_OP 42
#define CEPH_OSD_FLAG_ONDISK 4

template <class T> struct Ref {
    T *object = nullptr;
    T *get() const { return object; }
    T *operator->() const { return object; }
    explicit operator bool() const { return object != nullptr; }
};
struct utime_t {
    uint64_t to_nsec() const { return 1; }
};
struct entity_name_t {
    int64_t num() const { return 7; }
};
struct osd_reqid_t {
    entity_name_t name;
    uint64_t tid = 0;
};
struct hobject_t {};
struct eversion_t {};
struct Message {
    int type = 0;
    int get_type() const { return type; }
    uint64_t get_tid() const { return 3; }
    entity_name_t get_source() const { return {}; }
    utime_t get_recv_stamp() const { return {}; }
    utime_t get_throttle_stamp() const { return {}; }
    utime_t get_recv_complete_stamp() const { return {}; }
    utime_t get_dispatch_stamp() const { return {}; }
    unsigned get_data_len() const { return 0; }
};
struct OpTracker;
struct TrackedOp {
    virtual ~TrackedOp() = default;
};
struct OpRequest : public TrackedOp {
    Message *request;
    osd_reqid_t reqid;
    OpRequest(Message *req, OpTracker *tracker);
    osd_reqid_t get_reqid() const { return reqid; }
};
using OpRequestRef = Ref<OpRequest>;
using TrackedOpRef = Ref<TrackedOp>;
struct OpTracker {
    void unregister_inflight_op(TrackedOp *const i);
};
