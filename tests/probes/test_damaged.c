/* SPDX-License-Identifier: MIT */
/* test_damaged PROVIDER: starts the probes, each time in a process of its own, with a provider that
 * was cut short or has a bit turned over. Cut files are refused and harm nobody; so are those with
 * damage in what is looked at. Damage within code and data cannot be seen: it is counted. */
#include <optrail/probe.h>

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CUTS = 200,
    FLIPS = 2000,
    PATIENCE_SECONDS = 30,
    COUNTED_SECONDS = 2,
    REFUSED = 10,
    STARTED = 11,
    DIED = -1
};

static struct {
    unsigned char *bytes;
    size_t size;
    char name[64];
    FILE *file;
} copy;

static uint64_t dice(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u; /* xorshift64: the same numbers each time */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void read_provider(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        exit(2);
    copy.size = (size_t)ftell(file);
    copy.bytes = malloc(copy.size);
    rewind(file);
    if (!copy.bytes || fread(copy.bytes, 1, copy.size, file) != copy.size)
        exit(2);
    fclose(file);
}

static void put_bytes(size_t offset, const void *bytes, size_t length)
{
    if (pwrite(fileno(copy.file), bytes, length, (off_t)offset) != (ssize_t)length)
        exit(2);
}

/* A start that does not end in time has died, too. */
static int start_in_child(unsigned seconds)
{
    pid_t child = fork();
    if (child == 0) {
        /* sanitizers' handlers may wait for good for a lock of the loader that was interrupted */
        static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
        for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
            signal(deadly[i], SIG_DFL);
        alarm(seconds);
        (void)!freopen("/dev/null", "w", stderr); /* what a damaged library says of itself */
        _exit(optrail_probes_start() ? STARTED : REFUSED);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    return WIFEXITED(status) ? WEXITSTATUS(status) : DIED;
}

/* From every byte of the first header to the whole file without its last byte. */
static int check_cuts(void)
{
    int wrong = 0;
    for (size_t i = 0; i < CUTS; i++) {
        size_t length = i < sizeof(ElfW(Ehdr)) ? i
                        : i == CUTS - 1        ? copy.size - 1
                                               : dice() % copy.size;
        put_bytes(0, copy.bytes, copy.size);
        if (ftruncate(fileno(copy.file), (off_t)length) != 0)
            exit(2);
        int how = start_in_child(PATIENCE_SECONDS);
        if (how != REFUSED) {
            printf("cut to %zu of %zu bytes: %s\n", length, copy.size,
                   how == STARTED ? "was loaded" : "ended or held the process");
            wrong++;
        }
    }
    /* still being written, into a file that has its length already */
    unsigned char *zeros = calloc(1, copy.size);
    for (size_t i = 0; zeros && i < sizeof(ElfW(Ehdr)); i++) {
        put_bytes(0, zeros, copy.size);
        put_bytes(0, copy.bytes, i);
        if (start_in_child(PATIENCE_SECONDS) != REFUSED) {
            printf("%zu bytes, then zeros: was not refused\n", i);
            wrong++;
        }
    }
    free(zeros);
    return wrong;
}

/* One bit each. The file's header, which is looked at, comes first. */
static int check_flips(void)
{
    int wrong = 0, died = 0, started = 0;
    put_bytes(0, copy.bytes, copy.size);
    for (size_t i = 0; i < FLIPS; i++) {
        bool is_header = i < 8 * sizeof(ElfW(Ehdr));
        size_t place = is_header ? i / 8 : dice() % copy.size;
        unsigned char flipped = copy.bytes[place] ^ (unsigned char)(1u << (i % 8));
        put_bytes(place, &flipped, 1);
        int how = start_in_child(is_header ? PATIENCE_SECONDS : COUNTED_SECONDS);
        if (is_header && how != REFUSED && how != STARTED) {
            printf("bit %zu of byte %zu turned over: ended or held the process\n", i % 8, place);
            wrong++;
        }
        died += how != REFUSED && how != STARTED;
        started += how == STARTED;
        put_bytes(place, &copy.bytes[place], 1);
    }
    printf("%d bits turned over: %d loaded, %d refused, %d ended or held the process\n", FLIPS,
           started, FLIPS - started - died, died);
    if (start_in_child(PATIENCE_SECONDS) != STARTED) {
        printf("the undamaged copy was not loaded: all this shows nothing\n");
        wrong++;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    read_provider(argv[1]);
    strcpy(copy.name, "/tmp/optrail-damaged-XXXXXX");
    int file = mkstemp(copy.name);
    copy.file = file < 0 ? NULL : fdopen(file, "r+b");
    if (!copy.file)
        return 2;
    setenv("OPTRAIL_PROVIDER", copy.name, 1);
    setenv("LTTNG_UST_REGISTER_TIMEOUT", "0", 1); /* whoever records here is not waited for */
    int wrong = check_cuts() + check_flips();
    fclose(copy.file);
    unlink(copy.name);
    free(copy.bytes);
    return wrong ? 1 : 0;
}
