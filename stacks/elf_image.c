/* SPDX-License-Identifier: MIT */
#include "elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "byte_reader.h"

enum { SEGMENTS_MAX = 1024, SECTIONS_MAX = 65280, NOTES_MAX = 1 << 20 };

static bool read_at(const struct elf_image *image, uint64_t offset, void *out, uint64_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    if (image->memory) {
        memcpy(out, image->memory + offset, size);
        return true;
    }
    for (uint64_t done = 0; done < size;) {
        ssize_t got = pread(image->fd, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (uint64_t)got;
    }
    return true;
}

uint8_t *elf_image_load(const struct elf_image *image, uint64_t offset, uint64_t size)
{
    if (size > ELF_IMAGE_LOAD_MAX || offset > image->size || size > image->size - offset)
        return NULL;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return NULL;
    if (!read_at(image, offset, bytes, size)) {
        free(bytes);
        return NULL;
    }
    bytes[size] = 0;
    return bytes;
}

/* Sections are a help only: a file without them, or with nonsense, can still be unwound. */
static void load_sections(struct elf_image *image)
{
    const Elf64_Ehdr *header = &image->header;
    size_t count = header->e_shnum;
    if (count == 0 || count > SECTIONS_MAX || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_shstrndx >= count)
        return;
    image->sections =
        (Elf64_Shdr *)elf_image_load(image, header->e_shoff, count * sizeof(Elf64_Shdr));
    if (!image->sections)
        return;
    const Elf64_Shdr *names = &image->sections[header->e_shstrndx];
    if (elf_image_occupied(names) && names->sh_size <= ELF_IMAGE_LOAD_MAX)
        image->section_names = (char *)elf_image_load(image, names->sh_offset, names->sh_size);
    image->section_names_size = image->section_names ? names->sh_size : 0;
    image->section_count = count;
}

static int load_headers(struct elf_image *image)
{
    Elf64_Ehdr *header = &image->header;
    if (!read_at(image, 0, header, sizeof(*header)) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64)
        return -EINVAL;
    /* a file of debug information alone may have none */
    if (header->e_phnum > 0) {
        if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX)
            return -EINVAL;
        image->segments = (Elf64_Phdr *)elf_image_load(image, header->e_phoff,
                                                       header->e_phnum * sizeof(Elf64_Phdr));
        if (!image->segments)
            return -EINVAL;
        image->segment_count = header->e_phnum;
    }
    load_sections(image);
    return 0;
}

int elf_image_open_path(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

int elf_image_open(struct elf_image *image, int fd)
{
    struct stat status;
    *image = (struct elf_image){.fd = fd};
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < 0)
        return -EINVAL;
    image->size = (uint64_t)status.st_size;
    return load_headers(image);
}

int elf_image_open_memory(struct elf_image *image, const uint8_t *bytes, uint64_t size)
{
    *image = (struct elf_image){.fd = -1, .memory = bytes, .size = size};
    return load_headers(image);
}

void elf_image_close_file(struct elf_image *image)
{
    if (image->fd >= 0)
        close(image->fd);
    image->fd = -1;
    image->size = 0;
}

void elf_image_close(struct elf_image *image)
{
    free(image->segments);
    free(image->sections);
    free(image->section_names);
    elf_image_close_file(image);
    *image = (struct elf_image){.fd = -1};
}

bool elf_image_occupied(const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL;
}

const Elf64_Shdr *elf_image_section(const struct elf_image *image, const char *name)
{
    for (size_t i = 0; i < image->section_count; i++) {
        uint32_t at = image->sections[i].sh_name;
        if (at < image->section_names_size && strcmp(image->section_names + at, name) == 0)
            return &image->sections[i];
    }
    return NULL;
}

const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint32_t type)
{
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].p_type == type)
            return &image->segments[i];
    return NULL;
}

const Elf64_Phdr *elf_image_loaded(const struct elf_image *image, uint64_t address)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return segment;
    }
    return NULL;
}

bool elf_image_span(const struct elf_image *image, uint64_t *low, uint64_t *high)
{
    *low = UINT64_MAX;
    *high = 0;
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        uint64_t end;
        if (segment->p_type != PT_LOAD)
            continue;
        if (__builtin_add_overflow(segment->p_vaddr, segment->p_memsz, &end))
            return false;
        if (segment->p_vaddr < *low)
            *low = segment->p_vaddr;
        if (end > *high)
            *high = end;
    }
    return *low < *high && *high - *low <= UINT32_MAX;
}

/* The notes of one segment or section (gABI, note section: name and description padded to 4). */
static bool find_build_id(const struct elf_image *image, uint64_t offset, uint64_t size,
                          struct build_id *id)
{
    if (size > NOTES_MAX)
        return false;
    uint8_t *notes = elf_image_load(image, offset, size);
    if (!notes)
        return false;
    struct byte_reader reader = byte_reader(notes, size);
    while (!reader.failed && bytes_left(&reader) > 0 && id->size == 0) {
        uint32_t name_size = read_u32(&reader);
        uint32_t description_size = read_u32(&reader);
        uint32_t type = read_u32(&reader);
        const uint8_t *name = reader.at;
        skip_bytes(&reader, ((uint64_t)name_size + 3) & ~(uint64_t)3);
        const uint8_t *description = reader.at;
        skip_bytes(&reader, description_size);
        if (!reader.failed && type == NT_GNU_BUILD_ID && name_size == sizeof(ELF_NOTE_GNU) &&
            memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 && description_size > 0 &&
            description_size <= BUILD_ID_MAX) {
            memcpy(id->bytes, description, description_size);
            id->size = description_size;
        }
        if (bytes_left(&reader) >= (-description_size & 3))
            skip_bytes(&reader, -description_size & 3);
    }
    free(notes);
    return id->size > 0;
}

void elf_image_build_id(const struct elf_image *image, struct build_id *id)
{
    *id = (struct build_id){0};
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if (section->sh_type == SHT_NOTE &&
            find_build_id(image, section->sh_offset, section->sh_size, id))
            return;
    }
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_NOTE &&
            find_build_id(image, segment->p_offset, segment->p_filesz, id))
            return;
    }
}

/* The kernel maps whole pages, so that a segment's mapping may begin before its first byte. */
bool elf_image_bias(const struct elf_image *image, uint64_t map_start, uint64_t map_offset,
                    uint64_t *bias)
{
    const uint64_t in_page = 4095;
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        uint64_t first = segment->p_offset & ~in_page;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || map_offset < first ||
            map_offset - segment->p_offset + (segment->p_offset & in_page) >=
                segment->p_filesz + (segment->p_offset & in_page))
            continue;
        *bias = map_start - (segment->p_vaddr + (map_offset - segment->p_offset));
        return true;
    }
    return false;
}
