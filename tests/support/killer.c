/* Kills its process group before the n-th call that changes a file below a folder.
 *
 * Loaded by LD_PRELOAD into a command and into all that it starts. What to do stands in a file that
 * they share, named by KILLER: which call is the last, and how many there have been. Each call that
 * counts is written to the file that KILLER_LOG names, as "number name path".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct shared {
    long at;    /* the call before which all ends; 0: none */
    long count; /* of calls so far */
    long half;  /* whether half of a write is done first */
    char root[4096];
};
static struct shared *shared;
static int log_file = -1;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("KILLER"), *log = getenv("KILLER_LOG");
    int file = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR, 0) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) shared = map;
    syscall(SYS_close, file);
    if (log) log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (log_file >= 0) log_file = (int)fcntl(log_file, F_DUPFD_CLOEXEC, 500);
}

static int below(const char *path) {
    size_t length = strlen(shared->root);
    return length && !strncmp(path, shared->root, length);
}

static void full(int folder, const char *path, char *out) {
    char place[64], base[PATH_MAX] = "";
    if (path[0] == '/') { snprintf(out, PATH_MAX, "%s", path); return; }
    if (folder == AT_FDCWD) { if (!getcwd(base, sizeof base)) base[0] = 0; }
    else {
        snprintf(place, sizeof place, "/proc/self/fd/%d", folder);
        ssize_t n = readlink(place, base, sizeof base - 1);
        base[n < 0 ? 0 : n] = 0;
    }
    snprintf(out, PATH_MAX, "%.2000s/%.2000s", base, path);
}

/* Count a call; returns whether this is the one before which all ends. */
static int counts(const char *name, int folder, const char *path) {
    char whole[PATH_MAX], line[PATH_MAX + 64];
    if (!shared || shared->root[0] == 0) return 0;
    int kept = errno;
    if (path) full(folder, path, whole);
    else {
        char place[64];
        snprintf(place, sizeof place, "/proc/self/fd/%d", folder);
        ssize_t n = readlink(place, whole, sizeof whole - 1);
        whole[n < 0 ? 0 : n] = 0;
    }
    errno = kept;
    if (!below(whole)) return 0;
    long number = __atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
    if (log_file >= 0 && shared->at == 0) {
        int n = snprintf(line, sizeof line, "%ld %s %s\n", number, name, whole);
        syscall(SYS_write, log_file, line, n);
    }
    return shared->at == number;
}

static void end(void) {
    const char *leader = getenv("KILLER_LEADER"); /* what reaches out is a group of its own */
    if (leader) syscall(SYS_kill, -atoi(leader), SIGKILL);
    syscall(SYS_kill, 0, SIGKILL);
    for (;;) pause();
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (counts("write", file, NULL)) {
        if (shared->half) real(file, data, size / 2);
        end();
    }
    return real(file, data, size);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    if (counts("write", file, NULL)) {
        if (shared->half) real(file, data, size / 2, at);
        end();
    }
    return real(file, data, size, at);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    return pwrite64(file, data, size, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    if (counts("write", file, NULL)) end();
    return real(file, parts, count);
}
int ftruncate64(int file, off64_t size) {
    REAL(int, ftruncate64, int, off64_t);
    if (counts("truncate", file, NULL)) end();
    return real(file, size);
}
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }
int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    if (counts("rename", AT_FDCWD, to)) end();
    return real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    REAL(int, renameat, int, const char *, int, const char *);
    if (counts("rename", b, to)) end();
    return real(a, from, b, to);
}
int link(const char *from, const char *to) {
    REAL(int, link, const char *, const char *);
    if (counts("link", AT_FDCWD, to)) end();
    return real(from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    if (counts("link", b, to)) end();
    return real(a, from, b, to, flags);
}
int symlink(const char *from, const char *to) {
    REAL(int, symlink, const char *, const char *);
    if (counts("link", AT_FDCWD, to)) end();
    return real(from, to);
}
int unlink(const char *path) {
    REAL(int, unlink, const char *);
    if (counts("unlink", AT_FDCWD, path)) end();
    return real(path);
}
int unlinkat(int folder, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    if (counts("unlink", folder, path)) end();
    return real(folder, path, flags);
}
int rmdir(const char *path) {
    REAL(int, rmdir, const char *);
    if (counts("rmdir", AT_FDCWD, path)) end();
    return real(path);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    if (counts("mkdir", AT_FDCWD, path)) end();
    return real(path, mode);
}
int mkdirat(int folder, const char *path, mode_t mode) {
    REAL(int, mkdirat, int, const char *, mode_t);
    if (counts("mkdir", folder, path)) end();
    return real(folder, path, mode);
}
int chmod(const char *path, mode_t mode) {
    REAL(int, chmod, const char *, mode_t);
    if (counts("chmod", AT_FDCWD, path)) end();
    return real(path, mode);
}
int fsync(int file) {
    REAL(int, fsync, int);
    if (counts("fsync", file, NULL)) end();
    return real(file);
}
static int opened(int folder, const char *path, int flags, mode_t mode) {
    int changes = flags & (O_WRONLY | O_RDWR) && flags & (O_CREAT | O_TRUNC);
    if (changes && counts("open", folder, path)) end();
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}
static mode_t mode_of(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}
#define OPENS() \
    va_list rest; va_start(rest, flags); mode_t mode = mode_of(flags, rest); va_end(rest)
int open(const char *path, int flags, ...) { OPENS(); return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { OPENS(); return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { OPENS(); return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { OPENS(); return opened(folder, path, flags | O_LARGEFILE, mode); }
