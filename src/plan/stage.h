/* stage.h: planning a stage, a run of nodes up to one whose shapes depend on data. */
#ifndef OX_PLAN_STAGE_H
#define OX_PLAN_STAGE_H

#include "frame/frame.h"

/* Plans the stage that starts at node `first`; inferred: its results are in frame->planning.results already. */
ox_status ox_stage_plan(ox_frame *frame, int first, bool inferred);
/* True if the first node has the results that the stage was planned with, and all data that planning looked at is the
 * same. Takes over data that the results came with. */
bool ox_stage_holds(ox_frame *frame, const ox_stage *stage);
/* Describes node n, which has been inferred: shapes, views, and whether its operator runs. */
ox_status ox_stage_describe(ox_frame *frame, int n);
/* Forgets a stage and all after it. NULL is allowed. */
void ox_stage_forget(ox_frame *frame, ox_stage *stage);

#endif
