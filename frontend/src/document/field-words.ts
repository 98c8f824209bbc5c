/** A field's path in a request, in the words of the form. */
import type { RunRequest, Step } from '../api/types';

const PLAIN: Record<string, string> = {
  'config.block': 'block',
  'config.grid': 'grid',
  'config.dynamic_shared_bytes': 'dynamic shared memory',
  'config.cooperative': 'cooperative launch',
  'config.cluster': 'cluster',
  entry: 'kernel',
};

function stepAt(steps: readonly Step[], path: readonly string[]): { step: Step | null; rest: string[] } {
  const [index, ...rest] = path;
  const step = steps[Number(index)] ?? null;
  if (step?.kind === 'repeat' && rest[0] === 'steps') return stepAt(step.steps, rest.slice(1));
  return { step, rest };
}

/** steps.0.arguments.2 becomes "argument n of saxpy"; what has no words stays as it is. */
export function fieldWords(path: string, request: RunRequest | null): string {
  const [head, ...tail] = path.split('.');
  if (!request) return path;
  if (head === 'buffers') {
    const name = request.buffers?.[Number(tail[0])]?.name;
    return name ? `buffer ${name}${tail[1] ? `, ${tail.slice(1).join(' ')}` : ''}` : path;
  }
  if (head !== 'steps') return path;
  const { step, rest } = stepAt(request.steps, tail);
  if (step?.kind !== 'launch') return path;
  const of = step.entry ? ` of ${step.entry}` : '';
  if (rest[0] === 'arguments') {
    const argument = step.arguments?.[Number(rest[1])];
    return `argument ${argument?.name ?? Number(rest[1]) + 1}${of}`;
  }
  const key = Object.keys(PLAIN).find((field) => rest.join('.').startsWith(field));
  return key ? `${PLAIN[key]}${of}` : path;
}
