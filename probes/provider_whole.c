/* SPDX-License-Identifier: MIT */
/* Reads with pread, not through a mapping: a file that shrinks meanwhile is then an error, not a
 * signal. The format: System V ABI, chapters "Object Files" and "Program Loading". */
#include "provider_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any linker makes of one library. */
enum { SEGMENTS_MAX = 64, DYNAMIC_MAX = 256 };

struct image {
    int file;
    uint64_t size;
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[SEGMENTS_MAX];
    ElfW(Dyn) dynamic[DYNAMIC_MAX];
    size_t dynamic_count; /* without the end's mark */
};

static bool lies_within(uint64_t begin, uint64_t length, uint64_t outer, uint64_t outer_length)
{
    return begin >= outer && begin - outer <= outer_length &&
           length <= outer_length - (begin - outer);
}

static bool read_whole(const struct image *image, void *buffer, size_t length, uint64_t offset)
{
    if (!lies_within(offset, length, 0, image->size))
        return false;
    for (size_t done = 0; done < length;) {
        ssize_t got =
            pread(image->file, (char *)buffer + done, length - done, (off_t)(offset + done));
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool read_header(struct image *image)
{
    ElfW(Ehdr) *header = &image->header;
    if (!read_whole(image, header, sizeof(*header), 0) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const unsigned char order = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    if (header->e_ident[EI_CLASS] != class || header->e_ident[EI_DATA] != order ||
        header->e_type != ET_DYN || header->e_phentsize != sizeof(ElfW(Phdr)) ||
        header->e_phnum == 0 || header->e_phnum > SEGMENTS_MAX)
        return false;
    /* linkers put this table last: it is what a file that was cut lacks first */
    if (header->e_shoff &&
        (header->e_shentsize != sizeof(ElfW(Shdr)) ||
         !lies_within(header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr)), 0,
                      image->size)))
        return false;
    return read_whole(image, image->segments, header->e_phnum * sizeof(ElfW(Phdr)),
                      header->e_phoff);
}

/* The loaded segment that these bytes of memory are in; `is_file`: as bytes of the file, not as
 * zeros behind them. NULL: none. */
static const ElfW(Phdr) *
    segment_of(const struct image *image, uint64_t address, uint64_t length, bool is_file)
{
    for (size_t i = 0; i < image->header.e_phnum; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD &&
            lies_within(address, length, segment->p_vaddr,
                        is_file ? segment->p_filesz : segment->p_memsz))
            return segment;
    }
    return NULL;
}

/* Loaded segments come in the order of their addresses, and what else is in memory is in them; but
 * not the zeros of thread-local data, nor the page's rest that some linkers count as read-only. */
static bool check_segments(const struct image *image)
{
    uint64_t loaded_end = 0;
    for (size_t i = 0; i < image->header.e_phnum; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        if (segment->p_type == PT_NULL || segment->p_type == PT_GNU_STACK)
            continue;
        if (!lies_within(segment->p_offset, segment->p_filesz, 0, image->size) ||
            segment->p_filesz > segment->p_memsz)
            return false;
        if (segment->p_type == PT_LOAD) {
            if (segment->p_vaddr < loaded_end ||
                segment->p_memsz > (uint64_t)PTRDIFF_MAX - segment->p_vaddr)
                return false;
            loaded_end = segment->p_vaddr + segment->p_memsz;
        } else if (segment->p_type != PT_TLS && segment->p_type != PT_GNU_RELRO &&
                   !segment_of(image, segment->p_vaddr, segment->p_memsz, false)) {
            return false;
        }
    }
    return loaded_end > 0;
}

/* Reads the dynamic section from where the loader will find it in memory. */
static bool read_dynamic(struct image *image)
{
    const ElfW(Phdr) *dynamic = NULL;
    for (size_t i = 0; i < image->header.e_phnum; i++)
        if (image->segments[i].p_type == PT_DYNAMIC)
            dynamic = &image->segments[i];
    if (!dynamic || dynamic->p_filesz > sizeof(image->dynamic))
        return false;
    const ElfW(Phdr) *segment = segment_of(image, dynamic->p_vaddr, dynamic->p_filesz, true);
    size_t count = dynamic->p_filesz / sizeof(ElfW(Dyn));
    if (!segment || !(segment->p_flags & PF_W) ||
        !read_whole(image, image->dynamic, count * sizeof(ElfW(Dyn)),
                    segment->p_offset + (dynamic->p_vaddr - segment->p_vaddr)))
        return false;
    while (image->dynamic_count < count && image->dynamic[image->dynamic_count].d_tag != DT_NULL)
        image->dynamic_count++;
    return image->dynamic_count < count;
}

/* The value of a tag; `otherwise` where there is none. */
static uint64_t dynamic_value(const struct image *image, ElfW(Sxword) tag, uint64_t otherwise)
{
    for (size_t i = 0; i < image->dynamic_count; i++)
        if (image->dynamic[i].d_tag == tag)
            return image->dynamic[i].d_un.d_val;
    return otherwise;
}

/* What the dynamic section points to: a table's address, and the tag of its size or its least
 * size in bytes. */
static bool check_tables(const struct image *image)
{
    static const struct {
        ElfW(Sxword) address, size;
        uint64_t least;
        bool is_required;
    } tables[] = {
        {DT_STRTAB, DT_STRSZ, 1, true},
        {DT_SYMTAB, DT_NULL, sizeof(ElfW(Sym)), true},
        {DT_HASH, DT_NULL, 2 * sizeof(uint32_t), false},
        {DT_GNU_HASH, DT_NULL, 4 * sizeof(uint32_t), false},
        {DT_RELA, DT_RELASZ, 0, false},
        {DT_REL, DT_RELSZ, 0, false},
        {DT_JMPREL, DT_PLTRELSZ, 0, false},
        {DT_VERSYM, DT_NULL, sizeof(ElfW(Half)), false},
        {DT_VERNEED, DT_NULL, sizeof(ElfW(Verneed)), false},
        {DT_VERDEF, DT_NULL, sizeof(ElfW(Verdef)), false},
        {DT_INIT, DT_NULL, 1, false},
        {DT_FINI, DT_NULL, 1, false},
        {DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 0, false},
        {DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 0, false},
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        uint64_t address = dynamic_value(image, tables[i].address, 0);
        uint64_t size = tables[i].least;
        if (tables[i].size != DT_NULL)
            size = dynamic_value(image, tables[i].size, 0);
        if (address ? size < tables[i].least || !segment_of(image, address, size, true)
                    : tables[i].is_required)
            return false;
    }
    return true;
}

/* Names of libraries and paths are within the strings, and the strings have an end. */
static bool check_strings(const struct image *image)
{
    uint64_t strings = dynamic_value(image, DT_STRTAB, 0);
    uint64_t size = dynamic_value(image, DT_STRSZ, 0);
    for (size_t i = 0; i < image->dynamic_count; i++) {
        const ElfW(Dyn) *entry = &image->dynamic[i];
        if ((entry->d_tag == DT_NEEDED || entry->d_tag == DT_SONAME || entry->d_tag == DT_RPATH ||
             entry->d_tag == DT_RUNPATH) &&
            entry->d_un.d_val >= size)
            return false;
    }
    const ElfW(Phdr) *segment = segment_of(image, strings, size, true);
    char last = 1;
    return segment &&
           read_whole(image, &last, 1,
                      segment->p_offset + (strings - segment->p_vaddr) + size - 1) &&
           last == '\0';
}

bool optrail_provider_is_whole(int file)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
        return false;
    struct image image = {.file = file, .size = (uint64_t)status.st_size};
    return read_header(&image) && check_segments(&image) && read_dynamic(&image) &&
           check_tables(&image) && check_strings(&image);
}
