/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_READER_H
#define OPTRAIL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/*
 * babeltrace2 messages in, events out. babeltrace2's types stop behind this header, except for
 * event_pump.h, which the plugin shares.
 */

enum { READ_FATAL_CALLS = 4 };

/* For watching from another process over a reading that may abort or hang. The same traces are
 * always read by the same calls: so the number of a call that was the end of one reading tells the
 * next one what to leave out. */
struct read_watch {
    volatile uint64_t beats; /* goes up with every call */
    volatile uint64_t call; /* the number, from 1, of the last call of babeltrace2: to open a trace,
                               or for messages */
    size_t fatal_count;
    struct {
        uint64_t call; /* is not made; its trace is left out, or its stream breaks off there */
        char why[64];  /* "babeltrace2 aborts" */
    } fatal[READ_FATAL_CALLS];
};

/* Who wants the events. Any callback may be NULL: not interested. A callback that returns a
 * negative errno stops the reading with the message it set. All are called from the thread that
 * runs the reader. */
struct event_consumer {
    void *context; /* weak */
    /* Events come in time order over all streams and traces. The text of one that has a text (role
     * TEXT) lives until the callback returns. */
    int (*event)(void *context, const struct optrail_event *event);
    /* The tracer says that it discarded `count` events (0: unknown number) in [begin, end] ns. */
    int (*lost)(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns);
    struct read_watch *watch; /* weak; NULL: nobody watches */
};

enum { READ_TOLD_COUNTS = 32, READ_TOLD_NOTES = 8 };

/* What the traces say of themselves: entries of their environments that `optrail record` wrote. Of
 * several recordings the counts are summed, and ids joined with commas; of several snapshots of one
 * recording the largest count is taken, for they count on. */
struct read_told {
    bool recorded;      /* at least one trace was recorded by optrail */
    char recording[48]; /* which run of it made the newest one */
    char daemon[32];    /* "" where not told; "several" where they differ; likewise below */
    char version[32];
    char store[32];
    char detail[16]; /* at which it was probed */
    char id[64];
    size_t unfinished; /* traces whose recording did not come to its end */
    size_t count_count;
    struct {
        char name[40];
        uint64_t value;
    } counts[READ_TOLD_COUNTS];
    size_t note_count;
    char notes[READ_TOLD_NOTES][600];
    struct read_cpu {
        bool told;
        bool several; /* daemons, or recordings: theirs cannot be put together */
        uint64_t pid;
        uint64_t seconds_ns; /* between the two looks, as below */
        uint64_t run_ns, wait_ns;
        uint64_t cpus, busy_millionths;
        uint64_t threads, ended;
    } cpu; /* what its threads had of the CPUs (struct report_cpu) */
};

/* What was seen of Ceph's own tracepoints (ceph_tracepoints.h). */
struct read_ceph {
    uint64_t events;          /* all of them */
    uint64_t not_needed;      /* of which no event of ours was made */
    uint64_t unmapped;        /* nobody has mapped them to a point */
    uint64_t without_request; /* of messages that have no request id */
    uint64_t without_thread;  /* that only their thread joins to an op, and it is not told */
    uint64_t forgotten;       /* open requests that had to go for others */
    uint32_t seen;            /* a bit for each enum ceph_action that came */
    bool without_process;     /* some do not tell their process */
    bool beside_ours;         /* a process tells its requests by optrail's points as well */
};

/* What became of frames of call stacks whose file was told, but not their name (frame_names.h). The
 * rest of `told` lies in the file, where it names no function. */
struct read_frames {
    uint64_t told;
    uint64_t named;
    uint64_t missing;     /* the file is not here */
    uint64_t other_build; /* the file here is of another build */
    uint64_t ambiguous;   /* the process had several files of that name */
    char example[64];     /* the name of the first file of the last three; "": there was none */
};

/* What a run of the reader saw. */
struct read_counts {
    uint64_t events;       /* ours, delivered; also those that were made of Ceph's own */
    uint64_t foreign;      /* events of other providers, passed over */
    uint64_t unknown;      /* ours by name, but with a point this optrail does not know */
    uint64_t malformed;    /* ours by name, but without the fields they must have */
    uint64_t lost;         /* discarded by the tracer, as far as it told a number */
    uint64_t lost_packets; /* discarded packets */
    uint64_t begin_ns;     /* first and last event of ours; 0 when there is none */
    uint64_t end_ns;
    uint64_t late;          /* ours, older than one that was delivered before (a clock went back) */
    uint64_t late_after_ns; /* the newest time before the first of these */
    uint64_t jumps;         /* times that a trace's clock went on by more than a day at once */
    uint64_t jumped_ns;     /* by how much, all together: that much of end_ns - begin_ns is none */
    uint64_t jump_after_ns; /* the newest time before the first of these */
    uint32_t pid;           /* the process, when all events of ours come from one; else 0 */
    bool several_pids;      /* they come from several */
    size_t damaged;         /* traces or streams that could not be read to their end */
    const char *tracer;     /* "lttng", "bpf", "ctf" (another tracer), "mixed"; static */
    struct read_told told;
    struct read_ceph ceph;
    struct read_frames frames;
};

/* Adds what another reading saw, or a profile of it, as if both had been one. */
void read_counts_add(struct read_counts *to, const struct read_counts *from);

/* Reads the CTF traces below each of the `count` directories (as many traces as lie in them,
 * merged by time) and hands every event to the consumer.
 * Returns 0 and fills `counts`. Damage does not stop it: a stream that breaks off or is garbage is
 * read as far as it goes, the others to their end; then a negative errno is returned with a
 * message that names the first damage and where it lies, `counts` is filled all the same and
 * counts.damaged is not 0. When counts.damaged is 0, a negative errno means that nothing was read
 * or that the consumer stopped it. `*stop` (may be NULL), when it becomes non-zero, ends the
 * reading cleanly (SIGINT). */
int reader_run_traces(const char *const *directories, size_t count,
                      const struct event_consumer *consumer, const volatile int *stop,
                      struct read_counts *counts);

struct bt_component_class_source;

/* The same from a babeltrace2 source component: live events (bpf/source/event_source.h), or any
 * other. `data` is handed to the component as its initialise_method_data. The class stays the
 * caller's. Runs until the source ends. */
int reader_run_source(const struct bt_component_class_source *source, void *data,
                      const struct event_consumer *consumer, const volatile int *stop,
                      struct read_counts *counts);

#endif
