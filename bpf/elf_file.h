/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ELF_FILE_H
#define OPTRAIL_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An ELF executable as the loader needs it: functions by name, addresses to file offsets, bytes.
 * The file is not trusted: every number in it is checked before it is used, and how much of it is
 * loaded is limited, whatever sizes it claims. One thread at a time.
 */
struct elf_file;

/* Opens the 64-bit little-endian x86-64 executable or library at `path`; refuses everything else
 * with the message. Owned by the caller. */
int elf_file_open(const char *path, struct elf_file **file);

/* The same of a file that is open; the descriptor stays the caller's, and may be closed at once.
 * `path`: for messages. */
int elf_file_open_fd(int fd, const char *path, struct elf_file **file);
void elf_file_close(struct elf_file *file); /* NULL is fine */

struct elf_function {
    uint64_t address; /* virtual, as the file says; 0: there is no such function */
    uint64_t size;    /* bytes; 0 when the file does not say */
    uint64_t offset;  /* of its first byte in the file */
    bool ambiguous;   /* a pattern that fits several functions, or a name that several have */
    bool indirect;    /* the symbol stands for a function that is chosen when the program starts */
};

/* Looks up `count` mangled names in .symtab and .dynsym, in one pass; what is not there, or lies
 * outside of the executable code, stays {0}. A name with * is a pattern (fnmatch(3)). Negative
 * errno only when the file is damaged. */
int elf_file_functions(struct elf_file *file, const char *const *names, size_t count,
                       struct elf_function *functions);

/* The same for data: addresses alone; 0 for what is not there. */
int elf_file_objects(struct elf_file *file, const char *const *names, size_t count,
                     uint64_t *addresses);

/* The build-id, in hex; "" when the file has none. */
#define ELF_BUILD_ID_SIZE 65
void elf_file_build_id(struct elf_file *file, char build_id[ELF_BUILD_ID_SIZE]);

/* Where the program starts, as the file says. */
uint64_t elf_file_entry(struct elf_file *file);

/* Virtual address to file offset by the program headers; -ENOENT (no message) if the address is in
 * no part that comes from the file. `executable`: only parts that hold code. */
int elf_file_offset(const struct elf_file *file, uint64_t address, bool executable,
                    uint64_t *offset);

/* Whether `size` bytes at a virtual address are data that the program may write, and come from the
 * file. */
bool elf_file_is_writable(const struct elf_file *file, uint64_t address, uint64_t size);

/* The first program header of this type; -ENOENT (no message) if there is none. */
int elf_file_segment(const struct elf_file *file, uint32_t type, GElf_Phdr *header);

/* The header of the section with this name; -ENOENT (no message) if there is none. */
int elf_file_section(struct elf_file *file, const char *name, GElf_Shdr *header);

/* A string of a string section, as elf_strptr(3); the bytes of a section of notes, of a table. NULL
 * when there is none, or it is larger than any real one. Weak. */
const char *elf_file_string(struct elf_file *file, size_t section, size_t offset);
Elf_Data *elf_file_notes(struct elf_file *file, Elf_Scn *section);
Elf_Data *elf_file_table(struct elf_file *file, Elf_Scn *section);

/* Reads `size` bytes at a file offset; fewer only at the end of the file. Returns how many. */
long elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size);

uint64_t elf_file_size(const struct elf_file *file);

/* Weak: for walking sections. */
Elf *elf_file_handle(struct elf_file *file);

#endif
