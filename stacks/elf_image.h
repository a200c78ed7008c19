/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ELF_IMAGE_H
#define OPTRAIL_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What unwinding and names need of an ELF file, 64-bit x86-64 alone. The file is not trusted, and
 * may change or shrink while it is read: it is read, not mapped, and each number is checked. Only
 * what is asked for is loaded.
 */
struct elf_image {
    int fd;                /* owned; -1: in memory */
    const uint8_t *memory; /* weak */
    uint64_t size;
    Elf64_Ehdr header;
    Elf64_Phdr *segments; /* owned */
    size_t segment_count;
    Elf64_Shdr *sections; /* owned; none where the file has none, or nonsense */
    size_t section_count;
    char *section_names; /* owned */
    size_t section_names_size;
};

#define BUILD_ID_MAX 64
struct build_id {
    uint8_t bytes[BUILD_ID_MAX];
    size_t size; /* 0: there is none */
};

/* A descriptor of the file, for elf_image_open; -1: it cannot be opened, or is no regular file,
 * which might block, or do something, when it is opened. No message. */
int elf_image_open_path(const char *path);

/* Both are closed by elf_image_close, also after a failure. -EINVAL when it is no such file; no
 * message: the caller counts it. _open takes the descriptor. */
int elf_image_open(struct elf_image *image, int fd);
int elf_image_open_memory(struct elf_image *image, const uint8_t *bytes, uint64_t size);
void elf_image_close(struct elf_image *image);

/* Closes the file alone: headers stay, nothing more can be loaded. */
void elf_image_close_file(struct elf_image *image);

/* Reads `size` bytes at a file offset, with a zero byte behind them. Owned by the caller; NULL
 * when they are not all there, there are more than ELF_IMAGE_LOAD_MAX, or for want of memory. */
#define ELF_IMAGE_LOAD_MAX ((uint64_t)1 << 30)
uint8_t *elf_image_load(const struct elf_image *image, uint64_t offset, uint64_t size);

/* The first section of that name; NULL when there is none. `occupied`: it has bytes in the file. */
const Elf64_Shdr *elf_image_section(const struct elf_image *image, const char *name);
bool elf_image_occupied(const Elf64_Shdr *section);

/* The segment of that type, or of type PT_LOAD that holds a virtual address in bytes of the
 * file. */
const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint32_t type);
const Elf64_Phdr *elf_image_loaded(const struct elf_image *image, uint64_t address);

/* The virtual addresses that PT_LOAD segments span; false when there are none, or more than 4 GiB,
 * which no row can express. */
bool elf_image_span(const struct elf_image *image, uint64_t *low, uint64_t *high);

void elf_image_build_id(const struct elf_image *image, struct build_id *id);

/* How far a mapping of the file moves addresses: what to add to those of the file. False when no
 * segment lies at that file offset. */
bool elf_image_bias(const struct elf_image *image, uint64_t map_start, uint64_t map_offset,
                    uint64_t *bias);

#endif
