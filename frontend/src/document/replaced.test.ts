import { expect, test } from 'vitest';
import type { LaunchDraft } from './draft';
import { loadPayload } from './load';
import { layFlat, remember, restore, unrelated } from './replaced';

const MATMUL = `__global__ void matmul(int n, const float *A, float *C)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    C[row * n + column] = A[row * n + column];
}`;
const LINE = `__global__ void twice(const float *A, float *C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = 2 * A[i];
}`;

function opened() {
  const draft = loadPayload({
    request: {
      source: { text: MATMUL },
      buffers: [
        { name: 'A', dtype: 'float32', shape: [64, 64], init: { kind: 'literals', values: [] } },
        { name: 'C', dtype: 'float32', shape: [64, 64] },
        { name: 'other', dtype: 'float32', shape: [8, 8] },
      ],
      steps: [
        {
          kind: 'launch',
          entry: 'matmul',
          config: { grid: { kind: 'cover', buffer: 'C' }, block: [16, 16] },
          arguments: [
            { kind: 'scalar', name: 'n', value: 64 },
            { kind: 'buffer', name: 'A', buffer: 'A' },
            { kind: 'buffer', name: 'C', buffer: 'C' },
          ],
        },
      ],
    },
  });
  return { draft, launch: draft.steps[0] as LaunchDraft };
}

test.each([
  ['a paste', MATMUL, LINE, true],
  ['a rename', MATMUL, MATMUL.replace('matmul', 'product'), false],
  ['a line more', LINE, LINE.replace('}', '    C[i] += 1;\n}'), false],
  ['one line', LINE, '__global__ void k() {}', false],
])('%s', (_, from, source, expected) => {
  expect(unrelated(from, source)).toBe(expected);
});

test('a kernel of one dimension gets lines, not planes, and its own numbers', () => {
  const { draft, launch } = opened();
  layFlat(draft, launch, LINE);
  expect(draft.buffers.map(({ shape }) => shape)).toEqual(['64 × 64', '1024', '8 × 8']);
  expect(launch.block).toEqual(['256', '', '']);
  expect(launch.arguments.map(({ parameter }) => parameter)).toEqual(['A', 'C']);
});

test('a kernel of two dimensions keeps the plane', () => {
  const { draft, launch } = opened();
  layFlat(draft, launch, MATMUL.replace('matmul', 'sum'));
  expect(draft.buffers[1]!.shape).toBe('64 × 64');
  expect(launch.block).toEqual(['16', '16', '']);
});

test('what a kernel had comes back with it', () => {
  const { draft, launch } = opened();
  const before = JSON.stringify(draft);
  const former = remember(draft, launch);
  layFlat(draft, launch, LINE);
  restore(draft, launch, former);
  expect(JSON.stringify(draft)).toBe(before);
});
