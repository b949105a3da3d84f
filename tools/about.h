/* about.h: name, licence and address of the project, stated only here. Man page, ox.pc and the Python package take
 * these lines from here or are compared with them (make lint-about). The version is in src/ox.h. */
#ifndef OX_ABOUT_H
#define OX_ABOUT_H

#define OX_NAME "ox"
#define OX_PACKAGE "oxrt"
#define OX_LICENCE "Apache-2.0"
/* The project's home page, "https://..."; empty while it has none. */
#define OX_ADDRESS ""

#endif
