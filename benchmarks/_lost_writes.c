/* Preloaded library that keeps the content of each file as of its last flush.
 *
 * The writes of a killed process survive in the system's cache; a power cut loses them. Every fsync of
 * a file below $LOST_WRITES_IN therefore copies it to $LOST_WRITES_KEPT, under its path with % in place
 * of /; whatever is not there after a kill had not been flushed. The flush itself is skipped. Renaming
 * and removing a file applies to its copy too: like a journalling file system, we assume that changes
 * of names persist in order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int (*two_names)(const char *, const char *);
typedef int (*one_name)(const char *);
typedef int (*one_file)(int);

static int kept_name(const char *path, char *name) {
  const char *in = getenv("LOST_WRITES_IN"), *kept = getenv("LOST_WRITES_KEPT");
  if (in == NULL || kept == NULL || strncmp(path, in, strlen(in)) != 0) return 0;
  int begin = snprintf(name, PATH_MAX, "%s/", kept);
  if (begin + strlen(path) + 8 > PATH_MAX) abort();
  strcpy(name + begin, path);
  for (char *c = name + begin; *c != 0; ++c)
    if (*c == '/') *c = '%';
  return 1;
}

/* One copy at a time: a slow thread must not replace a newer copy by an older one. */
static pthread_mutex_t one_copy = PTHREAD_MUTEX_INITIALIZER;

static int keep(int file, one_file flush) {
  char link[64], path[PATH_MAX], name[PATH_MAX], partial[PATH_MAX + 16], piece[1 << 16];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  struct stat about;
  if (length < 0 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return flush(file);
  path[length] = 0;
  if (!kept_name(path, name)) return flush(file);
  snprintf(partial, sizeof partial, "%s.%d", name, getpid());
  pthread_mutex_lock(&one_copy);
  int from = open(path, O_RDONLY), to = open(partial, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (from < 0 || to < 0) abort();
  for (ssize_t n; (n = read(from, piece, sizeof piece)) > 0;)
    if (write(to, piece, n) != n) abort();
  close(from);
  close(to);
  two_names rename_file = (two_names)dlsym(RTLD_NEXT, "rename");
  int result = rename_file(partial, name);
  pthread_mutex_unlock(&one_copy);
  return result;
}

int fsync(int file) { return keep(file, (one_file)dlsym(RTLD_NEXT, "fsync")); }
int fdatasync(int file) { return keep(file, (one_file)dlsym(RTLD_NEXT, "fdatasync")); }

int unlink(const char *path) {
  one_name remove_file = (one_name)dlsym(RTLD_NEXT, "unlink");
  char name[PATH_MAX];
  if (kept_name(path, name)) remove_file(name);
  return remove_file(path);
}

int rename(const char *from, const char *to) {
  two_names rename_file = (two_names)dlsym(RTLD_NEXT, "rename");
  one_name remove_file = (one_name)dlsym(RTLD_NEXT, "unlink");
  char kept_from[PATH_MAX], kept_to[PATH_MAX];
  if (kept_name(from, kept_from) && kept_name(to, kept_to))
    if (rename_file(kept_from, kept_to) != 0) remove_file(kept_to);
  return rename_file(from, to);
}
