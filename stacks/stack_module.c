/* SPDX-License-Identifier: MIT */
#include "stack_module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "byte_reader.h"
#include "err.h"

/* No real one comes near; the rows of such an .eh_frame take a gigabyte. */
#define EH_FRAME_MAX ((uint64_t)128 << 20)
#define HEADER_MAX   ((uint64_t)128 << 20)

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stack_module *list;

/* The fixed layout that linkers write (LSB 5, 10.6.2): version 1, pointers as sdata4, the table
 * relative to the header. */
enum { HEADER_FIXED = 12, HEADER_ENTRY = 8 };

static void load_header(struct stack_module *module)
{
    static const uint8_t usual[] = {1, 0x1b, 0x03, 0x3b};
    const Elf64_Phdr *segment = elf_image_segment(&module->image, PT_GNU_EH_FRAME);
    if (!segment || segment->p_filesz < HEADER_FIXED || segment->p_filesz > HEADER_MAX)
        return;
    module->eh_frame_header = elf_image_load(&module->image, segment->p_offset, segment->p_filesz);
    if (!module->eh_frame_header)
        return;
    module->header_address = segment->p_vaddr;
    module->header_size = segment->p_filesz;
    struct byte_reader reader = byte_reader(module->eh_frame_header, module->header_size);
    uint8_t encodings[sizeof(usual)];
    read_bytes(&reader, encodings, sizeof(encodings));
    module->eh_frame_address = segment->p_vaddr + 4 + (uint64_t)(int64_t)(int32_t)read_u32(&reader);
    uint32_t entries = read_u32(&reader);
    bool fits = memcmp(encodings, usual, sizeof(usual)) == 0 &&
                entries <= (module->header_size - HEADER_FIXED) / HEADER_ENTRY;
    module->header_entries = fits ? entries : 0;
    if (encodings[0] != usual[0] || encodings[1] != usual[1])
        module->eh_frame_address = 0;
}

/* By its section; in a file without sections from where the header points to, as far as the
 * segment goes: a length of 0 ends it before. */
static void load_eh_frame(struct stack_module *module)
{
    const Elf64_Shdr *section = elf_image_section(&module->image, ".eh_frame");
    uint64_t offset, size;
    if (section && elf_image_occupied(section)) {
        module->eh_frame_address = section->sh_addr;
        offset = section->sh_offset;
        size = section->sh_size;
    } else {
        const Elf64_Phdr *segment = module->eh_frame_address
                                        ? elf_image_loaded(&module->image, module->eh_frame_address)
                                        : NULL;
        if (!segment)
            return;
        uint64_t inside = module->eh_frame_address - segment->p_vaddr;
        offset = segment->p_offset + inside;
        size = segment->p_filesz - inside;
        if (size > EH_FRAME_MAX)
            size = EH_FRAME_MAX;
        if (offset <= module->image.size && size > module->image.size - offset)
            size = module->image.size - offset;
    }
    if (size == 0 || size > EH_FRAME_MAX)
        return;
    module->eh_frame = elf_image_load(&module->image, offset, size);
    module->eh_frame_size = module->eh_frame ? size : 0;
}

/* Everything that unwinding needs. Negative for want of memory only. */
static int load(struct stack_module *module, int opened)
{
    if (opened < 0 || !elf_image_span(&module->image, &module->low, &module->high)) {
        module->bad = true;
        return 0;
    }
    elf_image_build_id(&module->image, &module->build_id);
    load_header(module);
    load_eh_frame(module);
    if (!module->eh_frame)
        return 0;
    struct eh_frame frame = {.bytes = module->eh_frame,
                             .size = module->eh_frame_size,
                             .address = module->eh_frame_address,
                             .low = module->low,
                             .high = module->high};
    int result = unwind_rows_make(&frame, &module->rows);
    module->bad = module->rows.count == 0;
    return result;
}

static void destroy(struct stack_module *module)
{
    if (!module)
        return;
    unwind_rows_free(&module->rows);
    symbol_table_free(&module->names);
    elf_image_close(&module->image);
    pthread_mutex_destroy(&module->names_lock);
    free(module->memory);
    free(module->eh_frame);
    free(module->eh_frame_header);
    free(module->name);
    free(module);
}

static struct stack_module *create(const char *name)
{
    struct stack_module *module = calloc(1, sizeof(*module));
    const char *slash = strrchr(name, '/');
    if (module) {
        module->image.fd = -1;
        module->references = 1;
        pthread_mutex_init(&module->names_lock, NULL);
        module->name = strdup(slash ? slash + 1 : name);
    }
    if (module && module->name)
        return module;
    destroy(module);
    err_no_memory();
    return NULL;
}

static struct stack_module *find(const struct stat *status)
{
    for (struct stack_module *module = list; module; module = module->next)
        if (module->device == status->st_dev && module->inode == status->st_ino &&
            module->size == status->st_size && module->changed.tv_sec == status->st_ctim.tv_sec &&
            module->changed.tv_nsec == status->st_ctim.tv_nsec)
            return module;
    return NULL;
}

static struct stack_module *add(int fd, const char *name, const struct stat *status)
{
    struct stack_module *module = create(name);
    if (!module) {
        close(fd);
        return NULL;
    }
    module->device = status->st_dev;
    module->inode = status->st_ino;
    module->size = status->st_size;
    module->changed = status->st_ctim;
    if (load(module, elf_image_open(&module->image, fd)) < 0) {
        destroy(module);
        return NULL;
    }
    module->next = list;
    list = module;
    return module;
}

struct stack_module *stack_module_of_file(int fd, const char *name)
{
    struct stat status = {0};
    struct stack_module *module;

    /* what cannot be told apart is not a file with code either */
    fstat(fd, &status);
    pthread_mutex_lock(&list_lock);
    module = find(&status);
    if (module) {
        module->references++;
        close(fd);
    } else {
        module = add(fd, name, &status);
    }
    pthread_mutex_unlock(&list_lock);
    return module;
}

struct stack_module *stack_module_of_memory(uint8_t *bytes, size_t size, const char *name)
{
    struct stack_module *module = create(name);
    if (!module) {
        free(bytes);
        return NULL;
    }
    module->memory = bytes;
    if (load(module, elf_image_open_memory(&module->image, bytes, size)) < 0) {
        destroy(module);
        return NULL;
    }
    return module;
}

struct stack_module *stack_module_hold(struct stack_module *module)
{
    pthread_mutex_lock(&list_lock);
    module->references++;
    pthread_mutex_unlock(&list_lock);
    return module;
}

void stack_module_release(struct stack_module *module)
{
    if (!module)
        return;
    pthread_mutex_lock(&list_lock);
    bool last = --module->references == 0;
    for (struct stack_module **link = &list; last && *link; link = &(*link)->next)
        if (*link == module) {
            *link = module->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
    if (last)
        destroy(module);
}

static void copy_part(uint64_t wanted, uint8_t word[8], const uint8_t *bytes, uint64_t address,
                      uint64_t size)
{
    for (unsigned i = 0; i < 8; i++)
        if (wanted + i - address < size)
            word[i] = bytes[wanted + i - address];
}

uint64_t stack_module_word(const struct stack_module *module, uint64_t address)
{
    uint64_t value;
    uint8_t word[8] = {0};
    copy_part(address, word, module->eh_frame, module->eh_frame_address, module->eh_frame_size);
    copy_part(address, word, module->eh_frame_header, module->header_address, module->header_size);
    memcpy(&value, word, sizeof(value));
    return value;
}
