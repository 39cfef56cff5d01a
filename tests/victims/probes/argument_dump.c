/* Prints its arguments ("args ...") or its environment ("env"), each followed by a NUL byte. */
#include <stdio.h>
#include <string.h>

extern char** environ;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  char** item = strcmp(argv[1], "env") == 0 ? environ : argv + 2;
  for (; *item != NULL; ++item) fwrite(*item, 1, strlen(*item) + 1, stdout);
  return fflush(stdout) == 0 ? 0 : 1;
}
