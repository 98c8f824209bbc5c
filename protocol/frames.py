"""The frames that a sandboxed child sends to its host: a JSON header and a binary payload.

| header | payload |
|---|---|
| {"event": …} | an Event's JSON; buffer-read and filmed lack `digest`, and their payload is the buffer, row-major |
| {"artifact": "kernel"} | CompiledKernel as JSON, without `cubin` |
| {"artifact": "translation"} | Translation as JSON, of a source whose text was executed |
| {"artifact": "recognised"} | Recognised as JSON |
| {"artifact": "cubin"} | the CUBIN |
| {"artifact": "occupancy"} | a JSON list of EntryOccupancy |
| {"artifact": "object", "key": k} | emulator code of one launch; k: `object_key`, `profile_key`, `trace_key` |
| {"artifact": "expected", "buffer": n} | what a reference expects in a buffer, row-major |

Blobs that the host hands to a child by name: "object:<key>", "cubin", "upload:<digest>" (a whole .npy file),
`expected_key` (what a reference gave); of a sweep over macros `of_variant` names.
"""


def object_key(entry: str, block: tuple[int, int, int]) -> str:
    """Names the emulator's code of an entry (as in the PTX) for one block shape."""
    return f"{entry}:{block[0]}x{block[1]}x{block[2]}"


def profile_key(key: str) -> str:
    """Names the code of the same launch that counts, for an estimate; `key` is an object_key."""
    return f"{key}:profile"


def trace_key(key: str) -> str:
    """Names the code of the same launch that traces a warp; `key` is an object_key."""
    return f"{key}:trace"


def of_variant(combination: int, name: str) -> str:
    """Names a blob of one choice of a sweep's macros; `name` is what it is called where there is one choice."""
    return f"variant:{combination}:{name}"


def expected_key(check: int, buffer: str) -> str:
    """Names the blob with the values that a check's reference expects in a buffer."""
    return f"expected:{check}:{buffer}"
