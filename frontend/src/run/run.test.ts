import { expect, test } from 'vitest';
import type { EventRecord, Launched, RunResult, Timed } from '../api/types';
import { ptxLines, sourceLines } from '../ptx/lines';
import { banner } from '../views/verdict';
import { seconds } from '../views/format';
import { fold, MAX_PRINTED_CHARACTERS } from './fold';
import { markOf, spans } from './phases';
import { sampling, stages } from './stages';

const record = (id: string, event: EventRecord['event'], at = 0): EventRecord => ({ id, at, event });

test('a flood of text is cut at a code point, as Python counts them', () => {
  const text = '🙂'.repeat(100_000);
  const result = fold(Array.from({ length: 12 }, (_, index) => record(`1-${index}`, { kind: 'printed', text })));
  expect([...result.printed!].length).toBe(MAX_PRINTED_CHARACTERS);
  expect(result.printed_truncated).toBe(true);
});

test('phases and how long they lasted', () => {
  const records = [
    record('0-1', { kind: 'queued', device: 'emulator' }, 10),
    record('1-1', { kind: 'compiling', attempt: 1 }, 12),
    record('1-2', { kind: 'compiled', architecture: 'sm_90', toolchain: '', entries: [] }, 12.5),
  ];
  const marks = records.map(markOf).filter((mark) => mark !== null);
  expect(spans(marks, 14).map(({ phase, seconds: time }) => [phase, time])).toEqual([
    ['queued', 2],
    ['compiling', 0.5],
    ['running', 1.5],
  ]);
});

const timed = (stage: Timed['stage'], time: number, more: Partial<Timed> = {}): Timed => ({ kind: 'timed', stage, seconds: time, ...more });
const launched = (device: 'emulator' | 'gpu'): Launched => ({
  kind: 'launched',
  step: 'steps.0',
  entry: 'k',
  grid: [1, 1, 1],
  block: [1, 1, 1],
  dynamic_shared_bytes: 0,
  device,
  device_name: '',
});

test('emulator time is never shown as GPU time', () => {
  const result: RunResult = { launches: [launched('emulator')], timings: [timed('run', 1, { launches: 3 }), timed('queue', 0.1)] };
  const [queue, run] = stages(result);
  expect(queue).toMatchObject({ name: 'Queue', clock: 'wall clock' });
  expect(run).toMatchObject({ name: 'Run', clock: 'wall clock', meaning: 'emulated on a CPU — not GPU time', detail: '3 launches' });
});

test('GPU events are named as the clock', () => {
  const [run] = stages({ launches: [launched('gpu')], timings: [timed('run', 1e-5, { clock: 'gpu-events' })] });
  expect(run).toMatchObject({ clock: 'GPU events', meaning: 'executing the launches' });
});

test('a repeated measurement says how it came about', () => {
  const words = sampling(timed('run', 1e-5, { samples: 50, cold_seconds: 2e-5, first_seconds: 4e-5 }));
  expect(words).toEqual(['median of 50 launches on the same data', '20 µs with the L2 cache emptied before each', '40 µs for the launch that gave the results']);
});

test.each([
  ['ok', 'ok', 'Finished'],
  ['cancelled', 'neutral', 'Cancelled'],
  ['limit:wall', 'bad', 'The run took too long'],
  ['limit:something-new', 'bad', 'The run reached the limit “something new”'],
  ['signal', 'bad', 'The run ended abnormally'],
  ['error', 'bad', 'The run failed'],
])('verdict %s', (verdict, tone, title) => {
  expect(banner({ verdict })).toMatchObject({ tone, title });
});

test.each([
  [0, '0 s'],
  [2.5e-8, '25 ns'],
  [8.12e-4, '812 µs'],
  [0.001523, '1.52 ms'],
  [3.1, '3.1 s'],
])('%d s is %s', (value, words) => {
  expect(seconds(value)).toBe(words);
});

const PTX = `.version 9.0
.visible .entry k(
\t.param .u64 k_param_0
)
{
\t.reg .b32 \t%r<3>;
\t.loc\t1 3 5
\tmov.u32 \t%r1, %tid.x;
\tadd.s32 \t%r2, %r1, 1;
\t.loc\t2 99 1
\tmul.lo.s32 \t%r2, %r2, 2;
\t.loc\t1 4 1
\tret;
}
\t.file\t1 "kernel.cu"
\t.section\t.debug_str
\t{
.b8 1
\t}
`;

test('PTX lines know their source line', () => {
  const lines = ptxLines(PTX);
  const at = (text: string) => lines.find((line) => line.text.includes(text))?.source;
  expect([at('%tid.x'), at('add.s32'), at('ret;'), at('.reg')]).toEqual([3, 3, 4, 0]);
  expect(lines.some(({ text }) => /\.loc|\.file|debug/.test(text))).toBe(false);
  expect(sourceLines(PTX)).toEqual(new Set([3, 4]));
});
