/* features.c: the features of an aarch64 processor, as the system reports them. Only the code for Linux is tested. */
#include "posix.h"

#include "host.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

/* What headers may lack. */
enum {
    DOT_BIT = 1 << 20, /* HWCAP_ASIMDDP */
    I8MM_BIT = 1 << 13 /* HWCAP2_I8MM */
};

unsigned ox_host_arm_features(void) {
    return (getauxval(AT_HWCAP) & DOT_BIT ? OX_ARM_DOTPROD : 0) | (getauxval(AT_HWCAP2) & I8MM_BIT ? OX_ARM_I8MM : 0);
}

#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>

static bool has(const char *name) {
    int value = 0;
    size_t size = sizeof value;
    return !sysctlbyname(name, &value, &size, NULL, 0) && value;
}

unsigned ox_host_arm_features(void) {
    return (has("hw.optional.arm.FEAT_DotProd") ? OX_ARM_DOTPROD : 0) |
           (has("hw.optional.arm.FEAT_I8MM") ? OX_ARM_I8MM : 0);
}

#elif defined(__aarch64__) && defined(_WIN32)
#include "windows.h"

/* What headers may lack. */
enum {
    DOT_FEATURE = 43, /* PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE */
    I8MM_FEATURE = 66 /* PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE */
};

unsigned ox_host_arm_features(void) {
    return (IsProcessorFeaturePresent(DOT_FEATURE) ? OX_ARM_DOTPROD : 0) |
           (IsProcessorFeaturePresent(I8MM_FEATURE) ? OX_ARM_I8MM : 0);
}

#else
unsigned ox_host_arm_features(void) {
    return 0;
}
#endif
