/** One warp's access as sectors of global memory or banks of shared memory. */
import type { TracedAccess } from '../api/types';
import { several } from '../views/format';

export const SECTOR = 32;
export const WORD = 4;
export const BANKS = 32;
const LINE = 128;

export interface Sector {
  /** Bytes from the buffer's start, or the address. */
  start: number;
  /** For each of its 32 bytes how many lanes use it. */
  used: number[];
}

const active = (access: TracedAccess): { lane: number; offset: number }[] =>
  access.offsets.flatMap((offset, lane) => (offset === null ? [] : [{ lane, offset }]));

/** The sectors that the lanes touch, ascending. */
export function sectorsOf(access: TracedAccess): Sector[] {
  const found = new Map<number, number[]>();
  for (const { offset } of active(access)) {
    for (let byte = offset; byte < offset + access.bytes; byte++) {
      const start = Math.floor(byte / SECTOR) * SECTOR;
      if (!found.has(start)) found.set(start, Array.from({ length: SECTOR }, () => 0));
      found.get(start)![byte - start]!++;
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([start, used]) => ({ start, used }));
}

/** Words of shared memory that each bank has to give, for the lanes that are served together. */
export interface Turn {
  lanes: number[];
  /** By bank: the different words. */
  banks: number[][];
  wavefronts: number;
}

/** Accesses of 8 and 16 bytes are served for halves and quarters of a warp. */
export function turnsOf(access: TracedAccess): Turn[] {
  const words = Math.max(1, access.bytes / WORD);
  const together = Math.max(1, Math.floor(32 / words));
  const turns: Turn[] = [];
  for (let first = 0; first < 32; first += together) {
    const lanes = active(access).filter(({ lane }) => lane >= first && lane < first + together);
    if (!lanes.length) continue;
    const banks: Set<number>[] = Array.from({ length: BANKS }, () => new Set());
    for (const { offset } of lanes) {
      for (let word = 0; word < words; word++) {
        const at = Math.floor(offset / WORD) + word;
        banks[at % BANKS]!.add(at);
      }
    }
    turns.push({ lanes: lanes.map(({ lane }) => lane), banks: banks.map((set) => [...set].sort((a, b) => a - b)), wavefronts: Math.max(...banks.map((set) => set.size)) });
  }
  return turns;
}

/** How well the access goes, in a sentence. */
export function sentence(access: TracedAccess): string {
  const lanes = active(access).length;
  const who = `${several(lanes, 'lane')} of ${access.bytes} ${access.bytes === 1 ? 'byte' : 'bytes'} each`;
  if (access.space === 'shared') {
    const waves = turnsOf(access).reduce((sum, { wavefronts }) => sum + wavefronts, 0);
    const least = turnsOf(access).length;
    return `${who} take ${several(waves, 'wavefront')} of shared memory${waves > least ? `: a ${Math.max(...turnsOf(access).map(({ wavefronts }) => wavefronts))}-way bank conflict` : ', without a bank conflict'}.`;
  }
  if (access.space === 'local') return `${who} go to local memory, where each thread has its own; its words lie interleaved.`;
  const sectors = sectorsOf(access);
  const lines = new Set(sectors.map(({ start }) => Math.floor(start / LINE))).size;
  const bytes = sectors.reduce((sum, { used }) => sum + used.filter(Boolean).length, 0);
  return `${who} touch ${several(sectors.length, 'sector')} in ${several(lines, 'line')}: ${Math.round((100 * bytes) / (sectors.length * SECTOR))} % of the ${sectors.length * SECTOR} bytes that move are used.`;
}
