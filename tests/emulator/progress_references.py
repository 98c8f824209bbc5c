"""What the kernels of progress.cu with unusual control flow, calls and memory compute, in Python, one thread each."""

from __future__ import annotations

from progress_inputs import X, wrap


def three_entries(t: int) -> int:
    v, n, place = X[t], 0, "ABC"[X[t] % 3]
    while True:
        if place == "A":
            n, v = n + 1, v - 5
            place = "C" if v & 4 else "B"
        elif place == "B":
            n, v = n + 100, v - 3
            place = "A" if v & 8 else "C"
        else:
            n, v = n + 10000, v - 7
            place = "B" if v & 1 else "A"
        if v < 0:
            return n


def two_entries(t: int) -> int:
    n, v = 0, X[t] & 63
    first = not v & 1
    while True:
        if first:
            n, v = n + 1, v - 1
            if v < 0:
                return n
        first = True
        n, v = n + 64, v - 2
        if v < 0:
            return n


def branch_table(t: int) -> int:
    return sum(7000 if i == 120 else 10 + i for i in ((X[t] + 40 * k) % 121 for k in range(3)))


def dense(t: int) -> int:
    v = X[t] % 150
    return (v * 7919) ^ (v << 3) if 10 <= v < 130 else -v


def predicated(t: int) -> list[int]:
    v, a, b, old, shared = X[t], 1, 2, -1, t
    if v < 500:
        a, b, shared = t, t, v
        wide = b
    else:
        a, b, old, shared = a + 1000, v * 3, t, t + 5
        wide = v
    if v < 500:
        b += wide
    else:
        b = wide
    return [a, b if v < 500 else -b, old, shared]


def scopes(t: int) -> int:
    b = X[t] * 5 + X[t] + 1
    return b + (b > 700)


def nested(t: int) -> int:
    n, v = 0, X[t]
    for a in range(6):
        if a == v % 7:
            continue
        skip = False
        for b in range(5):
            if (a + b + v) % 11 == 0:
                break
            c = b
            while True:
                n += a * b + c
                if n > 150 + v % 50:
                    return -n
                c -= 1 + (v & 1)
                if c <= 0:
                    break
            if n % 13 == 5:
                skip = True
                break
        n += 0 if skip else 3
    return n


def call(index: int, x: int) -> int:
    return (x + 1, x * 2, x * x - 3, x + 1)[index]


def pointer_argument(t: int) -> int:
    x = X[t]
    for _ in range(X[t] % 5):
        x = call(X[t] % 3, x) % 10007
    return x


def virtual_functions(t: int) -> int:
    v = X[t]
    first = ((v * v + t) * 10 + 1, (v * v + t) * 20 + 2, -t * 10 + 3)[v % 3]
    tag, area = (2, (t * t + 1) * 2) if v & 1 else (3, -1)
    return first + 100000 * tag + area * 10 + tag


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, ackermann(m, n - 1) if n else 1)


def by_pointer(n: int) -> int:
    return 0 if n <= 0 else call(n & 3, n) + by_pointer(n - 1)


def structures(t: int) -> int:
    v, d, c = [X[t] + k for k in range(5)], float(t), ord("a")
    for k in (t, t + 2):
        v[0], v[k % 5] = v[k % 5], v[0]
        d, c = d * 2 + k, c + 1
    s = 0
    for value in v:
        s = s * 3 + value
    return s + int(d) + c


# Memory.


def byte(value: int) -> int:
    return (value + 128) % 256 - 128


def local_arrays(t: int) -> int:
    grid = [[i * 10 + j + t for j in range(5)] for i in range(4)]
    h, c, d = [-i * t for i in range(7)], [i * t % 256 for i in range(11)], [i * 0.5 + t for i in range(3)]
    v = X[t]
    for k in range(3):
        grid[v % 4][(v + k) % 5] += h[(v + k) % 7]
        c[(v * 3 + k) % 11] ^= k + 1
    near = grid[(v + 1) % 4][v % 5] + grid[v % 4][(v + 1) % 5]
    return near + h[v % 7] + c[v * 3 % 11] + int(d[v % 3] * 2) + byte(v % 4 - t) + (v + 1) % 4 * t


def heap_list(t: int) -> int:
    s = 0
    for k in reversed(range(t % 6)):
        s = wrap(s * 3 + X[t] + k)
    return wrap(s + t)


def byte_moves(t: int) -> int:
    a = [byte(X[(t + k) % 256]) for k in range(40)]
    b = [byte(t)] * 40
    count = 17 + t % 9
    b[3 : 3 + count] = a[5 : 5 + count]
    a[2:17] = b[21:36]
    s = 0
    for k in range(40):
        s = wrap(s * 5 + a[k] + b[k] * 3)
    return s


def generic_atomics(n: int) -> list[int]:
    shared = [sum(X[t] for t in range(n) if t & 1 and t & 3 == k) for k in range(4)]
    plain = [sum(X[t] for t in range(n) if not t & 1 and t & 3 == k) for k in range(4)]
    return [shared[t & 3] * 1000 + 3 * n // 2 for t in range(n)] + [plain[0], 0, plain[2], 0]
