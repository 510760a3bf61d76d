/* SPDX-License-Identifier: Apache-2.0 */
/* All of the library. */
#ifndef UNHEX_UNHEX_H
#define UNHEX_UNHEX_H

#include <unhex/demangle.h>
#include <unhex/error.h>
#include <unhex/extract.h>
#include <unhex/frame.h>
#include <unhex/gpu.h>
#include <unhex/ids.h>
#include <unhex/input.h>
#include <unhex/interp.h>
#include <unhex/module.h>
#include <unhex/process.h>
#include <unhex/quality.h>
#include <unhex/question.h>
#include <unhex/source.h>
#include <unhex/version.h>

#endif
