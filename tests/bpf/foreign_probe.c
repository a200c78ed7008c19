/* SPDX-License-Identifier: MIT */
/*
 * Somebody else's probes, as perf sets them: a counter at a function's entry and one at its return.
 * Says "ready", waits for the end of its input, and prints for each place how often it was entered
 * and left.
 *
 * usage: foreign_probe PID FILE OFFSET...
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_PLACES 16

static uint32_t uprobe_type(void)
{
    char line[32] = "";
    FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
    if (file && !fgets(line, sizeof(line), file))
        line[0] = '\0';
    if (file)
        fclose(file);
    return (uint32_t)strtoul(line, NULL, 10);
}

static int open_counter(pid_t pid, const char *path, uint64_t offset, bool at_return)
{
    struct perf_event_attr event = {
        .size = sizeof(event),
        .type = uprobe_type(),
        .config = at_return, /* the kernel's PMU uprobe has it in the lowest bit */
        .config1 = (uintptr_t)path,
        .config2 = offset,
        .inherit = 1, /* in all threads to come */
    };
    int fd = (int)syscall(SYS_perf_event_open, &event, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        fprintf(stderr, "foreign_probe: %s\n", strerror(errno));
    return fd;
}

static uint64_t count_of(int counter)
{
    uint64_t count = 0;
    return read(counter, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}

int main(int argc, char **argv)
{
    int counters[2 * MAX_PLACES] = {0}, places = argc - 3;
    if (places < 1 || places > MAX_PLACES)
        return 2;
    for (int i = 0; i < 2 * places; i++) {
        uint64_t offset = strtoull(argv[3 + i / 2], NULL, 0);
        counters[i] = open_counter((pid_t)strtol(argv[1], NULL, 10), argv[2], offset, i % 2);
        if (counters[i] < 0)
            return 1;
    }
    fprintf(stderr, "ready\n");
    while (getchar() != EOF)
        ;
    for (int i = 0; i < places; i++)
        printf("%" PRIu64 " %" PRIu64 "\n", count_of(counters[2 * i]),
               count_of(counters[2 * i + 1]));
    return 0;
}
