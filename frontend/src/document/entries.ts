/** Which of a source's kernels a launch names. */
import type { Entry } from '../api/types';
import type { LaunchDraft } from './draft';

const dense = (name: string): string => name.replace(/\s+/g, '');

/** Name without parameters: 'scale<float>(float *, int)' is called 'scale<float>', 'void f<int>(int*)' is 'f<int>'. */
export function callName(entry: Pick<Entry, 'display'>): string {
  let depth = 0;
  let end = entry.display.length;
  for (const [index, character] of [...entry.display].entries()) {
    if (character === '<') depth++;
    else if (character === '>') depth--;
    else if (character === '(' && depth === 0 && index > 0) {
      end = index;
      break;
    }
  }
  return entry.display.slice(0, end).trim().replace(/^void\s+/, '');
}

/** The entry of that name; an empty name stands for the only one. Null where there is none, or no single one. */
export function entryOf(name: string, entries: readonly Entry[]): Entry | null {
  if (!name.trim()) return entries.length === 1 ? entries[0]! : null;
  const wanted = dense(name);
  return entries.find((entry) => entry.name === wanted || dense(callName(entry)) === wanted) ?? null;
}

const speaksOf = (source: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(source);

/** Whether the source can have what a template instantiation such as scale<float> is made of. */
export function hasTemplate(source: string, instantiation: string): boolean {
  const [base] = /\w+(?=\s*<)/.exec(instantiation) ?? [];
  return base !== undefined && speaksOf(source, base);
}

/** The kernel that a launch means whose own is gone: the only new one, as after a rename, else the first. */
export function successor(before: readonly Entry[], entries: readonly Entry[]): Entry | undefined {
  const fresh = entries.filter((entry) => !entryOf(callName(entry), before));
  return fresh.length === 1 ? fresh[0] : entries[0];
}

/** Elements of the covered buffer that one thread stands for: 4 where the kernel has it as a float4 *. */
export function coverComponents(launch: LaunchDraft, entry: Entry | null): number {
  const argument = launch.arguments.find(({ kind, buffer }) => kind === 'buffer' && buffer === launch.cover);
  const parameter = entry?.parameters?.find(({ name }) => name === argument?.parameter);
  return (parameter ? parameter.components : launch.components) ?? 1;
}

const KERNEL = /__global__(?:\s|void\b|__launch_bounds__\s*\([^)]*\))*(\w+)\s*\(|@(?:numba\.)?cuda\.jit\b.*\n\s*def (\w+)|\.entry\s+(\w+)/g;

/** Whether none of the kernels that one source defines is named in another. */
export function kernelsGone(from: string, source: string): boolean {
  const names = [...from.matchAll(KERNEL)].map(([, cuda, numba, ptx]) => (cuda ?? numba ?? ptx)!);
  return names.length > 0 && !names.some((name) => speaksOf(source, name));
}
