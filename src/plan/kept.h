/* kept.h: plans for shapes that the sources of a frame had before. */
#ifndef OX_PLAN_KEPT_H
#define OX_PLAN_KEPT_H

#include "frame/frame.h"

#if OX_WITH_KEPT
/* Lets a frame without a plan keep `most` plans besides the one in force. */
ox_status ox_kept_begin(ox_frame *frame, size_t most);
/* Takes the plan that was made for the sources as they are, if there is one; false if not. */
bool ox_kept_take(ox_frame *frame);
/* Puts the plan in force aside, if it has stages and there is memory; another one may go for it. */
void ox_kept_put(ox_frame *frame);
/* Notes what the sources are, before the first stage is planned. */
ox_status ox_kept_note(ox_frame *frame);
/* Where no more plans can be kept: brings one in force that may be updated, if what planning knew of it is there; false
 * if not. That is the oldest, for which the plan in force is put aside; or the one in force, where it has been updated
 * for shapes that were never there again, as those of a cache that grows, and the new ones have not been there lately.
 */
bool ox_kept_old(ox_frame *frame);
/* Finds out which sources differ from what the plan in force was made for; false if it cannot become one for these,
 * whatever it is. */
bool ox_kept_differs(ox_frame *frame);
/* Notes that the plan in force is one for the sources as they are; false without memory. */
bool ox_kept_renew(ox_frame *frame);
/* Drops the plans that are not in force; false if there are none. */
bool ox_kept_drop(ox_frame *frame);
#else
static inline bool ox_kept_old(ox_frame *frame) {
    (void)frame;
    return false;
}
static inline bool ox_kept_take(ox_frame *frame) {
    (void)frame;
    return false;
}
static inline void ox_kept_put(ox_frame *frame) {
    (void)frame;
}
static inline ox_status ox_kept_note(ox_frame *frame) {
    (void)frame;
    return OX_OK;
}
static inline bool ox_kept_drop(ox_frame *frame) {
    (void)frame;
    return false;
}
#endif

#endif
