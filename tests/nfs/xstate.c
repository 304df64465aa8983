/* Lets Debian's User Mode Linux boot on processors whose registers take more room than it knows, such as those with AMX.
 *
 * It saves and restores a process's floating-point registers in a buffer of its own size. Linux restores a whole set
 * only (arch/x86/kernel/fpu/regset.c, xstateregs_set), so lay what the guest restores over the set that the process has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

long ptrace(enum __ptrace_request request, ...) {
  static long (*real)(int, int, void *, void *);
  static char whole[1 << 16];
  va_list rest;
  if (!real) real = (long (*)(int, int, void *, void *))dlsym(RTLD_NEXT, "ptrace");
  va_start(rest, request);
  int process = va_arg(rest, int);
  void *kind = va_arg(rest, void *), *data = va_arg(rest, void *);
  va_end(rest);
  if (request != PTRACE_SETREGSET || kind != (void *)NT_X86_XSTATE) return real(request, process, kind, data);
  struct iovec *given = data, own = {whole, sizeof whole};
  long done = real(PTRACE_GETREGSET, process, kind, &own);
  if (done < 0) return done;
  memcpy(whole, given->iov_base, given->iov_len < own.iov_len ? given->iov_len : own.iov_len);
  return real(PTRACE_SETREGSET, process, kind, &own);
}
