/* SPDX-License-Identifier: MIT */
#include "elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

/* What a program may cost us. Tables of a real one are small (Debian's ceph-osd has 3 MiB of
 * names), but anybody can make a sparse file whose headers promise any size. */
enum {
    MAX_NOTES = 1 << 20,
    MAX_TABLE = 64 << 20,
    MAX_LOADED = 192 << 20, /* all of one file together */
};

struct segment {
    uint64_t address;
    uint64_t offset;
    uint64_t size; /* bytes that come from the file */
    bool executable;
    bool writable;
};

enum section_state { UNSEEN, LOADED, REFUSED };

struct elf_file {
    int fd;
    Elf *elf;
    uint64_t size;
    size_t segment_count;
    struct segment *segments;
    size_t section_count;
    uint8_t *sections; /* enum section_state of each */
    uint64_t loaded;   /* bytes */
};

static int read_segments(struct elf_file *file, const char *path)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count))
        return err_set(EINVAL, "%s: damaged ELF file: %s", path, elf_errmsg(-1));
    if (count > UINT16_MAX)
        return err_set(EINVAL, "%s: damaged ELF file: %zu program headers", path, count);
    file->segments = calloc(count ? count : 1, sizeof(*file->segments));
    if (!file->segments)
        return err_no_memory();
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        if (header.p_offset > file->size || header.p_filesz > file->size - header.p_offset)
            continue;
        file->segments[file->segment_count++] =
            (struct segment){header.p_vaddr, header.p_offset, header.p_filesz,
                             header.p_flags & PF_X, header.p_flags & PF_W};
    }
    return 0;
}

/* Before the library sees the file, which would make a table as long as the file says: more
 * sections than fit in e_shnum, or segments in e_phnum, has no program that we know. */
static int check_head(const struct elf_file *file, const char *path)
{
    Elf64_Ehdr header = {0};
    long got = elf_file_read(file, 0, &header, sizeof(header));
    if (got < 0)
        return (int)got;
    if (got < (long)sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(EINVAL, "%s: not an ELF file", path);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64)
        return err_set(ENOTSUP, "%s: not an x86-64 program: only those can be probed", path);
    if ((header.e_shnum == 0 && header.e_shoff != 0) || header.e_phnum == PN_XNUM)
        return err_set(EINVAL, "%s: damaged ELF file: it does not count its headers", path);
    return 0;
}

static int read_head(struct elf_file *file, const char *path)
{
    /* not ELF_C_READ_MMAP: a file that shrinks under us must not be a SIGBUS */
    file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF)
        return err_set(EINVAL, "%s: not an ELF file", path);
    if (elf_getshdrnum(file->elf, &file->section_count))
        return err_set(EINVAL, "%s: damaged ELF file: %s", path, elf_errmsg(-1));
    file->sections = calloc(file->section_count + 1, sizeof(*file->sections));
    return file->sections ? 0 : err_no_memory();
}

int elf_file_open_fd(int fd, const char *path, struct elf_file **result)
{
    *result = NULL;
    elf_version(EV_CURRENT);
    struct stat status;
    struct elf_file *file = calloc(1, sizeof(*file));
    if (!file)
        return err_no_memory();
    file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    int error = 0;
    if (file->fd < 0)
        error = err_set(errno, "cannot open %s: %s", path, strerror(errno));
    else if (fstat(file->fd, &status) || !S_ISREG(status.st_mode))
        error = err_set(EINVAL, "%s: not a regular file", path);
    else
        file->size = (uint64_t)status.st_size;
    if (!error)
        error = check_head(file, path);
    if (!error)
        error = read_head(file, path);
    if (!error)
        error = read_segments(file, path);
    if (error)
        elf_file_close(file);
    else
        *result = file;
    return error;
}

int elf_file_open(const char *path, struct elf_file **result)
{
    *result = NULL;
    /* O_NONBLOCK: a FIFO must not keep us waiting */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(errno, "cannot open %s: %s", path, strerror(errno));
    int error = elf_file_open_fd(fd, path, result);
    close(fd);
    return error;
}

void elf_file_close(struct elf_file *file)
{
    if (!file)
        return;
    free(file->segments);
    free(file->sections);
    if (file->elf)
        elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}

int elf_file_offset(const struct elf_file *file, uint64_t address, bool executable,
                    uint64_t *offset)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct segment *segment = &file->segments[i];
        if (executable && !segment->executable)
            continue;
        if (address >= segment->address && address - segment->address < segment->size) {
            *offset = segment->offset + (address - segment->address);
            return 0;
        }
    }
    return -ENOENT;
}

bool elf_file_is_writable(const struct elf_file *file, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct segment *segment = &file->segments[i];
        if (segment->writable && address >= segment->address &&
            address - segment->address <= segment->size &&
            size <= segment->size - (address - segment->address))
            return true;
    }
    return false;
}

static bool afford(struct elf_file *file, uint64_t size, uint64_t most)
{
    if (size > most || size > MAX_LOADED - file->loaded)
        return false;
    file->loaded += size;
    return true;
}

/* Whether the section's bytes may be loaded; each counts once. */
static bool may_load(struct elf_file *file, Elf_Scn *section, uint64_t most)
{
    GElf_Shdr header;
    size_t index = elf_ndxscn(section);
    if (index >= file->section_count || !gelf_getshdr(section, &header))
        return false;
    if (file->sections[index] == UNSEEN)
        file->sections[index] =
            !(header.sh_flags & SHF_COMPRESSED) && afford(file, header.sh_size, most) ? LOADED
                                                                                      : REFUSED;
    return file->sections[index] == LOADED;
}

const char *elf_file_string(struct elf_file *file, size_t section, size_t offset)
{
    if (section >= file->section_count)
        return NULL;
    if (file->sections[section] == UNSEEN) {
        Elf_Scn *strings = elf_getscn(file->elf, section);
        if (!strings || !may_load(file, strings, MAX_TABLE))
            return NULL;
    }
    return file->sections[section] == LOADED ? elf_strptr(file->elf, section, offset) : NULL;
}

Elf_Data *elf_file_notes(struct elf_file *file, Elf_Scn *section)
{
    return may_load(file, section, MAX_NOTES) ? elf_getdata(section, NULL) : NULL;
}

Elf_Data *elf_file_table(struct elf_file *file, Elf_Scn *section)
{
    return may_load(file, section, MAX_TABLE) ? elf_getdata(section, NULL) : NULL;
}

int elf_file_segment(const struct elf_file *file, uint32_t type, GElf_Phdr *header)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count))
        return -ENOENT;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(file->elf, (int)i, header) && header->p_type == type)
            return 0;
    return -ENOENT;
}

int elf_file_section(struct elf_file *file, const char *name, GElf_Shdr *header)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(file->elf, &names))
        return -ENOENT;
    while ((section = elf_nextscn(file->elf, section))) {
        const char *its =
            gelf_getshdr(section, header) ? elf_file_string(file, names, header->sh_name) : NULL;
        if (its && strcmp(its, name) == 0)
            return 0;
    }
    return -ENOENT;
}

/* Looks for the build-id in one segment of notes; says whether it was there. */
static bool build_id_in_notes(struct elf_file *file, const GElf_Phdr *header,
                              char build_id[ELF_BUILD_ID_SIZE])
{
    if (!afford(file, header->p_filesz, MAX_NOTES))
        return false;
    Elf_Data *data = elf_getdata_rawchunk(file->elf, (int64_t)header->p_offset, header->p_filesz,
                                          header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t name, content;
    for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &content)) > 0;) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
            memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0)
            continue;
        const uint8_t *bytes = (const uint8_t *)data->d_buf + content;
        for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < ELF_BUILD_ID_SIZE; i++)
            snprintf(build_id + 2 * i, 3, "%02x", bytes[i]);
        return true;
    }
    return false;
}

void elf_file_build_id(struct elf_file *file, char build_id[ELF_BUILD_ID_SIZE])
{
    size_t count;
    build_id[0] = '\0';
    if (elf_getphdrnum(file->elf, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_NOTE &&
            build_id_in_notes(file, &header, build_id))
            return;
    }
}

uint64_t elf_file_entry(struct elf_file *file)
{
    GElf_Ehdr header;
    return gelf_getehdr(file->elf, &header) ? header.e_entry : 0;
}

long elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file->fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(errno, "cannot read the program: %s", strerror(errno));
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (long)done;
}

uint64_t elf_file_size(const struct elf_file *file)
{
    return file->size;
}

Elf *elf_file_handle(struct elf_file *file)
{
    return file->elf;
}
