/* SPDX-License-Identifier: MIT */
#include "tracer_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Whether it lies in a file's mapping that is readable and not writable. */
static bool is_constant(pid_t pid, uint64_t address)
{
    char path[64], line[512], access[5];
    uint64_t begin, end, inode;
    bool constant = false, whole = true;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        bool starts = whole;
        whole = strchr(line, '\n') != NULL; /* a path may be longer than the line */
        if (starts &&
            sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64, &begin, &end, access,
                   &inode) == 4 &&
            address >= begin && address < end) {
            constant = access[0] == 'r' && access[1] == '-' && inode != 0;
            break;
        }
    }
    if (maps)
        fclose(maps);
    return constant;
}

/* NULL: it cannot be read, or is too long. */
static char *read_text(pid_t pid, uint64_t address)
{
    char text[TRACER_TEXT_BYTES];
    struct iovec local = {text, sizeof(text)};
    struct iovec remote = {(void *)(uintptr_t)address, sizeof(text)};

    if (!is_constant(pid, address))
        return NULL;
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got < 0) /* over a page's end, behind which there is nothing */
        remote.iov_len = 4096 - address % 4096;
    if (got < 0 && remote.iov_len < sizeof(text))
        got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return got > 0 && memchr(text, '\0', (size_t)got) ? strdup(text) : NULL;
}

const char *tracer_text_find(struct tracer_texts *texts, pid_t pid, uint64_t address)
{
    if (address == 0)
        return NULL;
    for (size_t i = 0; i < texts->count; i++)
        if (texts->rows[i].address == address)
            return texts->rows[i].text;
    if (texts->count == TRACER_TEXTS)
        return NULL;
    struct tracer_text *row = &texts->rows[texts->count++];
    *row = (struct tracer_text){.address = address, .text = read_text(pid, address)};
    return row->text;
}

void tracer_texts_free(struct tracer_texts *texts)
{
    while (texts->count)
        free(texts->rows[--texts->count].text);
}
