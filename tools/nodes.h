/* nodes.h: the nodes of a model, one by one. */
#ifndef OX_NODES_H
#define OX_NODES_H

#include "text.h"

/* Adds a line for each node: operator and version, name, and its inputs and outputs with types and shapes as far as the
 * session, which may be NULL, knows them. Nodes of subgraphs are indented. */
void ox_nodes_text(ox_text *text, const ox_model *model, const ox_session *session);

/* Adds the same as a JSON list. */
void ox_nodes_json(ox_text *text, const ox_model *model, const ox_session *session);

#endif
