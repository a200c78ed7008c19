/* SPDX-License-Identifier: MIT */
#include "loaded_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* The part of a file's headers that is looked at: one page is mapped in any case. */
#define HEADERS 4096u
#define NOTES   65536u
#define LONGEST 64u /* build-id, bytes */

static char program[4096]; /* its path; "": not known */

static const char *without_directories(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void loaded_file_find(uintptr_t address, struct loaded_file *file)
{
    struct dl_find_object object;

    *file = (struct loaded_file){.name = "?", .path = ""};
    if (_dl_find_object((void *)address, &object) != 0) /* NOLINT(performance-no-int-to-ptr) */
        return;
    const struct link_map *map = object.dlfo_link_map;
    file->path = map->l_name && *map->l_name ? map->l_name : program;
    if (*file->path)
        file->name = without_directories(file->path);
    file->bias = map->l_addr;
    file->header = object.dlfo_map_start;
}

/* The build-id in a stretch of notes; its size, 0: there is none. */
static size_t build_id_in(const uint8_t *notes, size_t size, size_t align, const uint8_t **id)
{
    size_t at = 0;

    while (size - at >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        size_t name = (note.n_namesz + align - 1) & ~(align - 1);
        size_t description = (note.n_descsz + align - 1) & ~(align - 1);
        if (name > size - at || note.n_descsz > size - at - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
            memcmp(notes + at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
            *id = notes + at + name;
            return note.n_descsz <= LONGEST ? note.n_descsz : 0;
        }
        if (description > size - at - name)
            return 0;
        at += name + description;
    }
    return 0;
}

/* Whether the loader has mapped these bytes of the file. */
static bool is_loaded(const ElfW(Phdr) * segments, size_t count, const ElfW(Phdr) * part)
{
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_R) &&
            part->p_vaddr >= segments[i].p_vaddr &&
            part->p_vaddr - segments[i].p_vaddr <= segments[i].p_filesz &&
            part->p_filesz <= segments[i].p_filesz - (part->p_vaddr - segments[i].p_vaddr))
            return true;
    return false;
}

static size_t find_build_id(const struct loaded_file *file, const uint8_t **id)
{
    const ElfW(Ehdr) *header = file->header;

    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > HEADERS ||
        header->e_phnum > (HEADERS - header->e_phoff) / sizeof(ElfW(Phdr)))
        return 0;
    const ElfW(Phdr) *segments = (const void *)((const uint8_t *)file->header + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *part = &segments[i];
        if (part->p_type != PT_NOTE || part->p_filesz > NOTES ||
            !is_loaded(segments, header->e_phnum, part))
            continue;
        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        const uint8_t *notes = (const uint8_t *)(file->bias + part->p_vaddr);
        size_t size = build_id_in(notes, part->p_filesz, part->p_align == 8 ? 8 : 4, id);
        if (size > 0)
            return size;
    }
    return 0;
}

size_t loaded_file_describe(const struct loaded_file *file, char *text, size_t size)
{
    const uint8_t *id = NULL;
    size_t bytes = file->path[0] == '/' ? find_build_id(file, &id) : 0;
    size_t path = strlen(file->path);

    if (bytes == 0 || 2 * bytes + 1 + path + 1 > size)
        return 0;
    for (size_t i = 0; i < bytes; i++) {
        text[2 * i] = "0123456789abcdef"[id[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
    }
    text[2 * bytes] = ' ';
    memcpy(text + 2 * bytes + 1, file->path, path + 1);
    return 2 * bytes + 1 + path;
}

void loaded_file_prepare(void)
{
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    program[length > 0 ? length : 0] = '\0';
}
