/** One request on the emulator and on a GPU, compared. */
import { api } from '../api/client';
import type { RunRequest } from '../api/types';
import { inspection } from './inspection.svelte';
import { ui } from './ui.svelte';
import { workspace } from './workspace.svelte';

const LOOK_MS = 300;

async function finished(id: string): Promise<void> {
  while ((await api.storedRun(id)).result.state !== 'finished') await new Promise((done) => setTimeout(done, LOOK_MS));
}

/** Sends both, the GPU's first: without a GPU nothing runs, and the service says why. */
export async function runTwins(): Promise<void> {
  await inspection.caughtUp();
  const [fault] = workspace.built.problems;
  if (fault) return ui.say(`Not sent: ${fault.message}`, true);
  const { request } = workspace.built;
  const sent = (device: string): RunRequest => ({ ...request, device, instruments: [] });
  try {
    const gpu = await api.run(sent(request.device?.startsWith('gpu') ? request.device : 'gpu'));
    const emulator = await api.run(sent('emulator'));
    ui.say('Running on the GPU and on the emulator …');
    await Promise.all([finished(gpu.id), finished(emulator.id)]);
    ui.compared = [emulator.id, gpu.id];
    ui.dialog = 'compare';
  } catch (error) {
    ui.say(error instanceof Error ? error.message : String(error), true);
  }
}
