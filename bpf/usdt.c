/* SPDX-License-Identifier: MIT */
#include "usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define NOTE_STAPSDT 3

/* A program with more probes than this is not one of ours. */
#define MAX_PROBES 65536

/* Where .stapsdt.base lies in this file; 0 if there is none. */
static uint64_t base_address(struct elf_file *file)
{
    GElf_Shdr header;
    return elf_file_section(file, ".stapsdt.base", &header) == 0 ? header.sh_addr : 0;
}

/* Why the kernel could not raise the semaphore at this address (uprobe_register() in
 * kernel/events/uprobes.c takes even addresses alone, of private writable data); NULL: it can. */
static const char *semaphore_obstacle(const struct elf_file *file, uint64_t address)
{
    if (address % 2 != 0)
        return "its semaphore has an odd address";
    return elf_file_is_writable(file, address, 2) ? NULL : "its semaphore lies in no writable data";
}

/* The string at *text, which must end before `end`; steps behind it. NULL if it does not end. */
static const char *next_string(const char **text, const char *end)
{
    const char *start = *text;
    const char *stop = memchr(start, '\0', (size_t)(end - start));
    if (!stop)
        return NULL;
    *text = stop + 1;
    return start;
}

static int add_probe(struct usdt_probes *probes, struct usdt_probe probe)
{
    struct usdt_probe *grown =
        realloc(probes->probes, (probes->count + 1) * sizeof(*probes->probes));
    if (grown)
        probes->probes = grown;
    if (!grown || !probe.name || !probe.arguments) {
        free(probe.name);
        free(probe.arguments);
        return err_no_memory();
    }
    probes->probes[probes->count++] = probe;
    return 0;
}

/* One note's descriptor: pc, base, semaphore, provider, name, arguments. */
static int take_note(struct elf_file *file, uint64_t base, const char *provider, const char *bytes,
                     size_t size, struct usdt_probes *probes)
{
    uint64_t addresses[3];
    if (size < sizeof(addresses)) {
        probes->damaged++;
        return 0;
    }
    memcpy(addresses, bytes, sizeof(addresses));
    const char *text = bytes + sizeof(addresses), *end = bytes + size;
    const char *owner = next_string(&text, end);
    const char *name = owner ? next_string(&text, end) : NULL;
    const char *arguments = name ? next_string(&text, end) : NULL;
    if (!arguments) {
        probes->damaged++;
        return 0;
    }
    if (strcmp(owner, provider) != 0)
        return 0;
    /* a prelinked file has moved since the note was written: the base tells by how much */
    uint64_t moved = base ? base - addresses[1] : 0;
    struct usdt_probe probe = {.address = addresses[0] + moved};
    if (elf_file_offset(file, addresses[0] + moved, true, &probe.offset) ||
        (addresses[2] &&
         elf_file_offset(file, addresses[2] + moved, false, &probe.semaphore_offset)) ||
        probes->count >= MAX_PROBES) {
        probes->damaged++;
        return 0;
    }
    if (addresses[2])
        probe.obstacle = semaphore_obstacle(file, addresses[2] + moved);
    probe.name = strdup(name);
    probe.arguments = strdup(arguments);
    return add_probe(probes, probe);
}

static int take_section(struct elf_file *file, Elf_Scn *section, uint64_t base,
                        const char *provider, struct usdt_probes *probes)
{
    Elf_Data *data = elf_file_notes(file, section);
    if (!data || !data->d_buf)
        return 0;
    size_t offset = 0, next, name_offset, text_offset;
    GElf_Nhdr note;
    while (offset < data->d_size &&
           (next = gelf_getnote(data, offset, &note, &name_offset, &text_offset)) > 0) {
        const char *bytes = data->d_buf;
        if (note.n_type == NOTE_STAPSDT && note.n_namesz == sizeof("stapsdt") &&
            memcmp(bytes + name_offset, "stapsdt", sizeof("stapsdt")) == 0) {
            int error = take_note(file, base, provider, bytes + text_offset, note.n_descsz, probes);
            if (error)
                return error;
        }
        offset = next;
    }
    if (offset < data->d_size)
        probes->damaged++;
    return 0;
}

int usdt_read(struct elf_file *file, const char *provider, struct usdt_probes *probes)
{
    *probes = (struct usdt_probes){0};
    Elf *elf = elf_file_handle(file);
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return 0; /* no sections, hence no notes */
    uint64_t base = base_address(file);
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
            continue;
        const char *name = elf_file_string(file, names, header.sh_name);
        if (!name || strcmp(name, ".note.stapsdt") != 0)
            continue;
        int error = take_section(file, section, base, provider, probes);
        if (error) {
            usdt_free(probes);
            return error;
        }
    }
    return 0;
}

void usdt_free(struct usdt_probes *probes)
{
    for (size_t i = 0; i < probes->count; i++) {
        free(probes->probes[i].name);
        free(probes->probes[i].arguments);
    }
    free(probes->probes);
    *probes = (struct usdt_probes){0};
}
