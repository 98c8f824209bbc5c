import { expect, test } from 'vitest';
import type { Example, Language } from '../api/types';
import { counterpart, renamed } from './languages';
import { recognise } from './recognise';

test.each<[string, string, Language | 'cupy' | null]>([
  ['a kernel', '__global__ void k(int *x) { x[0] = 1; }', 'cuda-c++'],
  ['an include', '#include <cstdio>\nstatic int x;', 'cuda-c++'],
  ['inline PTX', '__global__ void k() { asm(".reg .u32 r;\\n\\t.version"); }', 'cuda-c++'],
  ['Python in a comment of C++', '/*\nimport numba\n*/\n__global__ void k(int *x) {}', null],
  ['Numba', 'from numba import cuda\n\n@cuda.jit\ndef k(x):\n    x[0] = 1\n', 'numba'],
  ['Numba, decorated through its package', 'import numba.cuda\n@numba.cuda.jit\ndef k(x): pass', 'numba'],
  ['a decorator with a signature', '@cuda.jit("void(float32[:])", fastmath=True)\ndef k(x): pass', 'numba'],
  ['Numba that speaks of CUDA', '"""Like\n__global__ void k();\n"""\nfrom numba import cuda  # not __global__\n', 'numba'],
  ['Numba under a CUDA kernel', '__global__ void k() {}\nfrom numba import cuda\n', null],
  ['PTX', '// from nvcc\n.version 8.0\n.target sm_75\n.visible .entry k() { ret; }', 'ptx'],
  ['PTX that was cut out', '.visible .entry k(.param .u64 x)\n{ ret; }', 'ptx'],
  ['a CuPy raw kernel', "import cupy as cp\nk = cp.RawKernel(r'''\nextern \"C\" __global__ void k() {}\n''', 'k')", 'cupy'],
  ['a CuPy elementwise kernel', "from cupy import ElementwiseKernel\nk = ElementwiseKernel('T x', 'T y', 'y = x', 'k')", 'cupy'],
  ['a CuPy kernel in short strings', 'import cupy\nk = cupy.RawKernel("extern \\"C\\" __global__ void k"\n  "() {}", "k")', 'cupy'],
  ['CuPy without kernels', 'import cupy as cp\nprint(cp.arange(3).sum())', null],
  ['CuPy and Numba', 'import cupy\nfrom numba import cuda\n@cuda.jit\ndef k(x): pass', 'numba'],
  ['a line of code', 'int i = threadIdx.x;', null],
  ['prose', 'import substitution is a policy', null],
])('%s is recognised', (_, text, language) => {
  expect(recognise(text)).toBe(language);
});

test.each<[string, Language, string]>([
  ['kernel.cu', 'numba', 'kernel.py'],
  ['saxpy.v2.py', 'ptx', 'saxpy.v2.ptx'],
  ['header.cuh', 'cuda-c++', 'header.cuh'],
  ['notes.txt', 'cuda-c++', 'notes.cu'],
  ['kernel', 'ptx', 'kernel.ptx'],
  [`${'k'.repeat(64)}`, 'numba', `${'k'.repeat(60)}.py`],
])('%s in %s is %s', (name, language, expected) => {
  expect(renamed(name, language)).toBe(expected);
});

const example = (id: string, language?: Language): Example =>
  ({ id, title: id, summary: '', payload: { request: { source: { text: 'x', ...(language ? { language } : {}) }, steps: [] } } }) as unknown as Example;

test('an example is found in another language', () => {
  const examples = [example('saxpy'), example('saxpy-numba', 'numba'), example('saxpy-ptx', 'ptx'), example('scan')];
  expect(counterpart('saxpy', 'ptx', examples)?.id).toBe('saxpy-ptx');
  expect(counterpart('saxpy-ptx', 'numba', examples)?.id).toBe('saxpy-numba');
  expect(counterpart('saxpy-numba', 'cuda-c++', examples)?.id).toBe('saxpy');
  expect(counterpart('scan', 'numba', examples)).toBeNull();
});
