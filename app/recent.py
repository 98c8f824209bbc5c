"""What was asked for lately and never changes, in memory."""

from collections import OrderedDict


class Recent:
    """Bytes by key, at most `cap_bytes` of them; the least recently used go first."""

    def __init__(self, cap_bytes: int) -> None:
        self._cap = cap_bytes
        self._held = 0
        self._values: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: str, value: bytes) -> None:
        if len(value) > self._cap // 8 or key in self._values:
            return
        self._values[key] = value
        self._held += len(value)
        while self._held > self._cap:
            _, oldest = self._values.popitem(last=False)
            self._held -= len(oldest)
