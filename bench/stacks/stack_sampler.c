/* SPDX-License-Identifier: MIT */
#include "stack_sampler.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"

enum { PAGE = 4096, RING_PAGES = 1024, STACK_BYTES = 32768, CPUS_MAX = 64 };

struct ring {
    int fd;
    struct perf_event_mmap_page *page;
};

struct stack_sampler {
    pid_t pid;
    struct ring rings[CPUS_MAX];
    size_t count;
    uint8_t record[65536];
};

/* In the order in which the kernel puts them. */
static const uint8_t registers[] = {STACK_RAX, STACK_RBX, STACK_RCX, STACK_RDX, STACK_RSI,
                                    STACK_RDI, STACK_RBP, STACK_RSP, STACK_RIP, STACK_R8,
                                    STACK_R9,  STACK_R10, STACK_R11, STACK_R12, STACK_R13,
                                    STACK_R14, STACK_R15};
static const uint64_t register_mask = 0x1ff | (uint64_t)0xff << PERF_REG_X86_R8;

static int open_cpu(struct stack_sampler *sampler, int cpu, unsigned hertz)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attributes),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = hertz,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_regs_user = register_mask,
        .sample_stack_user = STACK_BYTES,
    };
    struct ring *ring = &sampler->rings[sampler->count];
    ring->fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return err_set(errno, "cannot sample CPU %d: %s", cpu, strerror(errno));
    ring->page = mmap(NULL, (size_t)(1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
                      ring->fd, 0);
    if (ring->page == MAP_FAILED) {
        close(ring->fd);
        return err_set(errno, "cannot map the samples of CPU %d: %s", cpu, strerror(errno));
    }
    sampler->count++;
    return 0;
}

int stack_sampler_open(pid_t pid, unsigned hertz, struct stack_sampler **opened)
{
    struct stack_sampler *sampler = calloc(1, sizeof(*sampler));
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int result = sampler ? 0 : err_no_memory();

    *opened = NULL;
    if (sampler)
        sampler->pid = pid;
    for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX && result == 0; cpu++)
        result = open_cpu(sampler, cpu, hertz);
    if (result < 0) {
        stack_sampler_close(sampler);
        return result;
    }
    *opened = sampler;
    return 0;
}

void stack_sampler_close(struct stack_sampler *sampler)
{
    for (size_t i = 0; sampler && i < sampler->count; i++) {
        munmap(sampler->rings[i].page, (size_t)(1 + RING_PAGES) * PAGE);
        close(sampler->rings[i].fd);
    }
    free(sampler);
}

static uint64_t take(const uint8_t **at)
{
    uint64_t value;
    memcpy(&value, *at, sizeof(value));
    *at += sizeof(value);
    return value;
}

/* A record as perf_event_open(2) describes it for our sample type. */
static bool take_sample(struct stack_sampler *sampler, stack_sampler_function *call, void *context)
{
    struct perf_event_header header;
    const uint8_t *at = sampler->record;
    struct stack_snapshot snapshot = {0};

    memcpy(&header, at, sizeof(header));
    at += sizeof(header);
    if (header.type != PERF_RECORD_SAMPLE || (pid_t)(uint32_t)take(&at) != sampler->pid ||
        take(&at) != PERF_SAMPLE_REGS_ABI_64)
        return false;
    for (size_t i = 0; i < sizeof(registers); i++)
        snapshot.registers[registers[i]] = take(&at);
    uint64_t size = take(&at);
    snapshot.stack = at;
    at += size;
    snapshot.size = size ? take(&at) : 0;
    if (snapshot.size == 0)
        return false;
    call(context, &snapshot);
    return true;
}

size_t stack_sampler_read(struct stack_sampler *sampler, stack_sampler_function *call,
                          void *context)
{
    size_t taken = 0;
    const uint64_t size = (uint64_t)RING_PAGES * PAGE;
    for (size_t i = 0; i < sampler->count; i++) {
        struct perf_event_mmap_page *page = sampler->rings[i].page;
        const uint8_t *data = (const uint8_t *)page + PAGE;
        uint64_t tail = page->data_tail;
        uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        while (tail < head) {
            struct perf_event_header header;
            memcpy(&header, data + tail % size, sizeof(header)); /* records are 8-byte aligned */
            for (uint16_t done = 0; done < header.size; done += 8)
                memcpy(sampler->record + done, data + (tail + done) % size, 8);
            taken += take_sample(sampler, call, context);
            tail += header.size;
        }
        __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    }
    return taken;
}
