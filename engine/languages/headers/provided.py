"""Small in-memory stand-ins for headers that no CUDA wheel holds: name as included -> text.

The compiler itself already declares printf, assert, malloc, memcpy, the math functions, min, max, clock, dim3 and
size_t; these add what the standard puts beside them, and their names in namespace std.
"""

from __future__ import annotations

from engine.languages.headers.c_library import (
    ALLOCA,
    CFLOAT,
    CLIMITS,
    CMATH,
    CSTDDEF,
    CSTDINT,
    CSTDIO,
    CSTDLIB,
    CSTRING,
    CTIME,
)
from engine.languages.headers.cpp_library import ALGORITHM, LIMITS, TYPE_TRAITS, UTILITY

HEADERS: dict[str, str] = {
    "cstdint": CSTDINT,
    "cstddef": CSTDDEF,
    "climits": CLIMITS,
    "cfloat": CFLOAT,
    "cmath": CMATH,
    "cstdlib": CSTDLIB,
    "cstring": CSTRING,
    "cstdio": CSTDIO,
    "ctime": CTIME,
    "cassert": "#pragma once\n",
    # The driver's host interface, which the real file of this name would declare and no kernel can call.
    "cuda.h": "#pragma once\n",
    "algorithm": ALGORITHM,
    "utility": UTILITY,
    "type_traits": TYPE_TRAITS,
    "limits": LIMITS,
    "alloca.h": ALLOCA,
    "math.h": "#include <cmath>\n",
    "time.h": "#include <ctime>\n",
    "assert.h": "#include <cassert>\n",
    "float.h": "#include <cfloat>\n",
    "inttypes.h": "#include <cstdint>\n",
    "cinttypes": "#include <cstdint>\n",
    "limits.h": "#include <climits>\n",
    "stdbool.h": "#pragma once\n",
    "stddef.h": "#include <cstddef>\n",
    "stdint.h": "#include <cstdint>\n",
    "stdio.h": "#include <cstdio>\n",
    "stdlib.h": "#include <cstdlib>\n#include <alloca.h>\n",
    "string.h": "#include <cstring>\n",
}
