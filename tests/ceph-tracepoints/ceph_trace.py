# SPDX-License-Identifier: MIT
"""CTF traces as LTTng would write them of a Ceph that is built with its own tracepoints.

Trace(directory) collects events, in any order of time; write() puts them down. The names and types of
fields are facts of Ceph (v0.94, v9.1.0 and v16.2.5, which agree in these)."""
import struct

INTEGERS = {"u8": ("B", 8, False), "i8": ("b", 8, True), "u16": ("H", 16, False),
            "i32": ("i", 32, True), "u32": ("I", 32, False),
            "u64": ("Q", 64, False), "i64": ("q", 64, True)}

REQUEST = {"type": "u8", "num": "i64", "tid": "u64", "inc": "i32"}
EXTENT = {"oid": "str", "snap": "u64", "osize": "u64", "oseq": "u32", "offset": "u64",
          "length": "u64", "truncate_size": "u64", "truncate_seq": "u32"}
TXC = {"sequencer_id": "u32", "tid": "u64"}
IMAGE = {"imagectx": "u64", "name": "str", "snap_name": "str", "read_only": "i8"}

EVENTS = {
    "oprequest:set_rmw_flags": {**REQUEST, "flag": "i32", "old_rmw_flags": "i32",
                                "new_rmw_flags": "i32"},
    "oprequest:mark_flag_point": {**REQUEST, "rmw_flags": "i32", "flag": "u8", "msg": "str",
                                  "old_hit_flag_points": "u8", "new_hit_flag_points": "u8"},
    "osd:ms_fast_dispatch": REQUEST,
    "osd:opwq_process_start": REQUEST,
    "osd:opwq_process_finish": REQUEST,
    "osd:prepare_tx_enter": REQUEST,
    "osd:prepare_tx_exit": REQUEST,
    "pg:queue_op": {**REQUEST, "rmw_flags": "i32"},
    "osd:do_osd_op_pre": {"oid": "str", "snap": "u64", "op": "u16", "opname": "str",
                          "flags": "u32"},
    "osd:do_osd_op_pre_read": EXTENT,
    "osd:do_osd_op_pre_write": EXTENT,
    "osd:do_osd_op_pre_call": {"oid": "str", "snap": "u64", "class_name": "str",
                               "method_name": "str"},
    "objectstore:getattr_enter": {"coll_name": "str"},
    "objectstore:getattr_exit": {"retval": "i32"},
    "objectstore:stat_enter": {"coll_name": "str"},
    "objectstore:read_enter": {"coll_name": "str", "offset": "u64", "len": "u64"},
    "objectstore:read_exit": {"retval": "i32"},
    "objectstore:write_enter": {"osr_name": "str", "offset": "u64", "length": "u64"},
    "objectstore:write_exit": {"retval": "i32"},
    "objectstore:setattrs_enter": {"osr_name": "str"},
    "objectstore:setattrs_exit": {"retval": "i32"},
    "objectstore:omap_setkeys_enter": {"osr_name": "str"},
    "objectstore:omap_setkeys_exit": {"retval": "i32"},
    "bluestore:transaction_initial_state": {
        **TXC, "current_kv_throttle_cost": "i64", "current_deferred_throttle_cost": "i64",
        "pending_kv_ios": "u64", "pending_deferred_ios": "u64",
        "ios_started_since_last_traced_io": "u64", "ios_completed_since_last_traced_io": "u64",
        "throttle_time": "double"},
    "bluestore:transaction_state_duration": {**TXC, "state": "i8", "elapsed": "double"},
    "bluestore:transaction_kv_sync_latency": {
        **TXC, "kv_batch_size": "u32", "deferred_done_batch_size": "u32",
        "deferred_stable_batch_size": "u32", "elapsed": "double"},
    "bluestore:transaction_commit_latency": {**TXC, "elapsed": "double"},
    "bluestore:transaction_total_duration": {**TXC, "elapsed": "double"},
    "librbd:read_enter": {**IMAGE, "offset": "u64", "length": "u64"},
    "librbd:read_exit": {"retval": "i64"},
    "librbd:write_enter": {**IMAGE, "off": "u64", "buf": "u64", "buf_isnull": "u8",
                           "buf_len": "u64"},
    "librbd:write_exit": {"retval": "i64"},
    "librbd:aio_write_enter": {**IMAGE, "off": "u64", "len": "u64", "buf": "u64",
                               "buf_isnull": "u8", "buf_len": "u64", "completion": "u64"},
    "librbd:aio_write_exit": {"retval": "i32"},
    "librbd:aio_read_enter": {**IMAGE, "offset": "u64", "length": "u64", "completion": "u64"},
    "librbd:aio_read_exit": {"retval": "i32"},
    "librbd:aio_complete_enter": {"completion": "u64", "rval": "i64"},
    "librbd:aio_complete_exit": {},
    "librbd:open_image_exit": {"retval": "i32"},
    "librados:rados_read_enter": {"ioctx": "u64", "oid": "str", "buf": "u64", "len": "u64",
                                  "off": "u64"},
    "librados:rados_read_exit": {"retval": "i32", "buf": "u64", "buf_isnull": "u8",
                                 "buf_len": "u64"},
    "librados:rados_write_full_enter": {"ioctx": "u64", "oid": "str", "buf": "u64",
                                        "buf_isnull": "u8", "buf_len": "u64"},
    "librados:rados_write_full_exit": {"retval": "i32"},
    "librados:rados_stat_enter": {"ioctx": "u64", "oid": "str"},
    "librados:rados_stat_exit": {"retval": "i32"},
    "librados:rados_aio_read_enter": {"ioctx": "u64", "oid": "str", "completion": "u64",
                                      "len": "u64", "off": "u64"},
    "librados:rados_aio_read_exit": {"retval": "i32"},
    "eventtrace:func_exit": {"file": "str", "func": "str"},
    # one of optrail's own, for sessions that have both
    "optrail:op_start": {"pid": "u32", "tid": "u32", "key": "u64", "type": "u64",
                         "client": "u64"},
}


def tsdl(kind, name):
    """The declaration of a field, with the underscore that LTTng puts before each name."""
    if kind == "str":
        return f"string _{name};"
    if kind == "double":
        return "floating_point { exp_dig = 11; mant_dig = 53; align = 8; } " + f"_{name};"
    _, size, signed = INTEGERS[kind]
    return f"integer {{ size = {size}; align = 8; signed = {int(signed)}; }} _{name};"


def encode(kind, value):
    if kind == "str":
        return str(value).encode() + b"\0"
    if kind == "double":
        return struct.pack("<d", value)
    return struct.pack("<" + INTEGERS[kind][0], value)


class Trace:
    """`contexts`: those that `lttng add-context` gave every event, of vpid, vtid and pthread_id.
    `types`: {event: {field: type}} to declare fields otherwise than Ceph does, or not ("")."""

    CONTEXTS = {"vpid": "i32", "vtid": "i32", "pthread_id": "u64"}

    def __init__(self, directory, contexts=("vpid", "vtid"), env_pid=None, types=None):
        self.directory = directory
        self.contexts = contexts
        self.env_pid = env_pid
        self.events = []
        self.types = {name: dict(fields) for name, fields in EVENTS.items()}
        for name, fields in (types or {}).items():
            self.types.setdefault(name, {}).update(fields)
            self.types[name] = {field: kind for field, kind in self.types[name].items() if kind}

    def emit(self, microseconds, pid, tid, name, /, **values):
        """Fields that are not given are 0 or empty."""
        context = {"vpid": pid, "vtid": tid, "pthread_id": 0x7f0000000000 + tid * 4096}
        data = b"".join(encode(self.CONTEXTS[kind], context[kind]) for kind in self.contexts)
        for field, kind in self.types[name].items():
            data += encode(kind, values.pop(field, "" if kind == "str" else 0))
        assert set(values) <= set(EVENTS[name]), (name, values)  # what is left is not declared
        self.events.append((round(microseconds * 1000), len(self.events), name, data))

    def metadata(self, ids):
        lines = ["/* CTF 1.8 */",
                 "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { "
                 "integer { size = 32; align = 8; } magic; integer { size = 32; align = 8; } "
                 "stream_id; }; };",
                 'env { domain = "ust"; tracer_name = "lttng-ust"; ' +
                 (f"vpid = {self.env_pid}; " if self.env_pid else "") + "};",
                 'clock { name = "monotonic"; freq = 1000000000; offset = 0; };',
                 "typealias integer { size = 64; align = 8; map = clock.monotonic.value; } "
                 ":= stamp;",
                 "stream { id = 0; event.header := struct { integer { size = 32; align = 8; } id; "
                 "stamp timestamp; }; packet.context := struct { stamp timestamp_begin; stamp "
                 "timestamp_end; integer { size = 64; align = 8; } content_size; "
                 "integer { size = 64; align = 8; } packet_size; "
                 "integer { size = 32; align = 8; } cpu_id; };"]
        if self.contexts:
            lines[-1] += " event.context := struct { " + " ".join(
                tsdl(self.CONTEXTS[kind], kind) for kind in self.contexts) + " };"
        lines[-1] += " };"
        for name, number in ids.items():
            fields = " ".join(tsdl(kind, field) for field, kind in self.types[name].items())
            lines.append(f'event {{ name = "{name}"; id = {number}; stream_id = 0; '
                         f"fields := struct {{ {fields} }}; }};")
        return "\n".join(lines) + "\n"

    def write(self):
        self.events.sort()
        ids = {name: number for number, name in enumerate(dict.fromkeys(
            event[2] for event in self.events))}
        body = b"".join(struct.pack("<IQ", ids[name], time) + data
                        for time, _, name, data in self.events)
        size = (8 + 8 * 4 + 4 + len(body)) * 8
        header = struct.pack("<IIQQQQI", 0xC1FC1FC1, 0, self.events[0][0], self.events[-1][0],
                             size, size, 1)
        self.directory.mkdir(parents=True)
        (self.directory / "metadata").write_text(self.metadata(ids))
        (self.directory / "channel0_0").write_bytes(header + body)
        return self.directory
