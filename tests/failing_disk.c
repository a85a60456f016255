/* A disk that fails: the call FAIL_CALL sets FAIL_ERRNO at its FAIL_AT-th use for a file below FAIL_BELOW, once for each folder of that
   name. Loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char counted[PATH_MAX + 1];
static int uses;

static int is_below(int descriptor) {
    char link[64], path[PATH_MAX + 1];
    const char *folder = getenv("FAIL_BELOW");
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX);
    if (!folder || length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int fails(const char *call, int descriptor) {
    const char *named = getenv("FAIL_CALL"), *at = getenv("FAIL_AT");
    if (!named || !at || strcmp(named, call) || !is_below(descriptor)) return 0;
    if (strcmp(counted, getenv("FAIL_BELOW"))) {
        snprintf(counted, sizeof counted, "%s", getenv("FAIL_BELOW"));
        uses = 0;
    }
    return ++uses == atoi(at);
}

static int failure(void) {
    errno = atoi(getenv("FAIL_ERRNO"));
    return -1;
}

ssize_t write(int descriptor, const void *content, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return fails("write", descriptor) ? failure() : real(descriptor, content, size);
}

int fsync(int descriptor) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return fails("fsync", descriptor) ? failure() : real(descriptor);
}

int close(int descriptor) {
    int (*real)(int) = dlsym(RTLD_NEXT, "close"), failed = fails("close", descriptor), status = real(descriptor);
    return failed ? failure() : status;
}
