/** How the blocks of a grid take the SMs of a GPU, wave by wave, as if all blocks took equally long. */

export interface Wave {
  /** From 0. */
  number: number;
  first: number;
  blocks: number;
  empty: number;
}

/** Of `blocks` over `sms` SMs that hold `perSm` each. */
export function waveOf(number: number, blocks: number, sms: number, perSm: number): Wave {
  const places = sms * perSm;
  const first = number * places;
  const here = Math.max(0, Math.min(places, blocks - first));
  return { number, first, blocks: here, empty: places - here };
}

export const countWaves = (blocks: number, sms: number, perSm: number): number => (sms * perSm ? Math.ceil(blocks / (sms * perSm)) : 0);

/** Blocks that an SM holds in a wave: they are dealt out one an SM, round by round. */
export const held = (wave: Wave, sm: number, sms: number): number => Math.floor(wave.blocks / sms) + (sm < wave.blocks % sms ? 1 : 0);

/** Waves to list: all of a few, else the first, one for those that are alike, and the last. */
export function listedWaves(count: number): { number: number; alike: number }[] {
  if (count <= 4) return Array.from({ length: count }, (_, number) => ({ number, alike: 1 }));
  return [{ number: 0, alike: count - 1 }, { number: count - 1, alike: 1 }];
}
