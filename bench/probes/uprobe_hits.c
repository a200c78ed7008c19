/* SPDX-License-Identifier: MIT */
#include "uprobe_hits.h"

#include "err.h"
#include "hit.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct uprobe_hits {
    struct hit_bpf *program;
    struct bpf_link *link;
};

static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

struct place {
    uintptr_t address;
    size_t offset; /* in the file; 0: not found (no code lies there) */
};

/* The first object that is told is the program itself. */
static int find_in_program(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    struct place *place = context;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && place->address >= begin &&
            place->address - begin < segment->p_filesz)
            place->offset = place->address - begin + segment->p_offset;
    }
    return 1;
}

static size_t file_offset(const volatile void *address)
{
    struct place place = {.address = (uintptr_t)address};
    dl_iterate_phdr(find_in_program, &place);
    return place.offset;
}

static int attach(struct uprobe_hits *uprobe, const void *address, const volatile void *semaphore)
{
    uprobe->program = hit_bpf__open_and_load();
    if (!uprobe->program) {
        int code = errno;
        return err_set(code,
                       code == EPERM ? "loading an eBPF program needs root"
                                     : "the kernel takes no eBPF program: %s",
                       strerror(code));
    }
    LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = semaphore ? file_offset(semaphore) : 0);
    size_t offset = file_offset(address);
    if (!offset)
        return err_set(EFAULT, "the probed code is not in the program's file");
    uprobe->link = bpf_program__attach_uprobe_opts(uprobe->program->progs.count_hit, 0,
                                                   "/proc/self/exe", offset, &options);
    if (!uprobe->link)
        return err_set(errno, "the kernel refuses the uprobe: %s", strerror(errno));
    return 0;
}

int uprobe_hits_open(const void *address, const volatile void *semaphore,
                     struct uprobe_hits **uprobe)
{
    libbpf_set_print(print_nothing);
    struct uprobe_hits *new_uprobe = calloc(1, sizeof(*new_uprobe));
    if (!new_uprobe)
        return err_no_memory();
    int result = attach(new_uprobe, address, semaphore);
    if (result < 0) {
        uprobe_hits_close(new_uprobe);
        return result;
    }
    *uprobe = new_uprobe;
    return 0;
}

uint64_t uprobe_hits_count(const struct uprobe_hits *uprobe)
{
    return *(volatile const __u64 *)&uprobe->program->bss->hits;
}

void uprobe_hits_close(struct uprobe_hits *uprobe)
{
    if (!uprobe)
        return;
    bpf_link__destroy(uprobe->link);
    hit_bpf__destroy(uprobe->program);
    free(uprobe);
}
