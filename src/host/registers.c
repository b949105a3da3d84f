/* registers.c: registers that the system saves for processes that ask for them. */
#include "posix.h"

#include "host.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>

enum {
    REQUEST = 0x1023, /* ARCH_REQ_XCOMP_PERM, */
    MATRICES = 18     /* and XFEATURE_XTILEDATA, which headers may lack */
};
#endif

bool ox_host_matrix_registers(void) {
#if defined(SYS_arch_prctl)
    return syscall(SYS_arch_prctl, REQUEST, MATRICES) == 0;
#else
    return false;
#endif
}
