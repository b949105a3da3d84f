/* wait.h: a stand-in for the enumeration of small graphs (tests/scopes), where there are neither processes nor signals.
 */
#ifndef OX_WASI_WAIT_H
#define OX_WASI_WAIT_H

#define SCOPES_TOGETHER
#define WIFSIGNALED(status) ((status) < 0)
#define WTERMSIG(status) (-(status))
#define WEXITSTATUS(status) (status)

#endif
