/** What the page can do, by name: the command palette and the keyboard share this list. */
import { api, ApiError, type ExportFormat } from '../api/client';
import type { Example } from '../api/types';
import { download, saveSource } from './files';
import { openLibrary, trySizes } from './openings';
import { modifier } from './platform';
import { openNew } from './route';
import { run } from './run.svelte';
import { TABS, type Tab, ui } from './ui.svelte';
import { workspace } from './workspace.svelte';

export interface Command {
  name: string;
  keys?: string;
  act(): void;
}

export function commands(openFile: () => void): Command[] {
  const tab = ([id, label]: readonly [Tab, string], index: number): Command => ({
    name: `Show ${/^[A-Z]{2}/.test(label) ? label : label.toLowerCase()}`,
    keys: `Alt ${index + 1}`,
    act: () => ui.show(id),
  });
  return [
    run.busy
      ? { name: 'Cancel the run', act: () => void run.cancel() }
      : { name: 'Run the kernel', keys: `${modifier} ↵`, act: () => void run.start() },
    { name: 'Run on the GPU and on the emulator, and compare', act: () => void import('./twin').then(({ runTwins }) => runTwins()) },
    { name: 'Try block sizes', keys: `${modifier} ⇧ ↵`, act: () => void trySizes() },
    ...TABS.map(tab),
    { name: 'Open examples', act: openLibrary },
    { name: 'Open the run history', act: () => ((ui.drawer = 'history'), (ui.pane = 'library')) },
    { name: 'Share this kernel', act: () => (ui.dialog = 'share') },
    { name: 'Save this run as a CuPy script', act: () => void takeAway('cupy') },
    { name: 'Save this run as a .cu with main()', act: () => void takeAway('cu') },
    ...(workspace.origin.share ? [{ name: 'Show what differs from the link', act: () => void (ui.dialog = 'fork') }] : []),
    { name: 'New CUDA C++ kernel', act: () => void openNew('cuda-c++') },
    { name: 'New Numba kernel', act: () => void openNew('numba') },
    { name: 'New PTX kernel', act: () => void openNew('ptx') },
    { name: 'Open a source file', keys: `${modifier} O`, act: openFile },
    { name: 'Save the source as a file', keys: `${modifier} S`, act: saveSource },
    { name: 'Discard my edits', act: () => workspace.reset() },
    { name: 'Show the edits of another tab', act: () => workspace.swap() },
    { name: 'Switch between dark and light', act: () => ui.toggleTheme() },
    { name: 'Keyboard shortcuts', keys: '?', act: () => (ui.dialog = 'keys') },
  ];
}

/** Whether the run that is shown is of a language that programs are made of. */
export const exportable = (): boolean => (run.request?.source.language ?? 'cuda-c++') === 'cuda-c++';

/** Saves the run that is shown as a program of one file. */
export async function takeAway(format: ExportFormat, id = run.id): Promise<void> {
  if (!id) {
    ui.say('Run the kernel first: the program is made of a run.', true);
    return;
  }
  if (!exportable()) {
    ui.say('Only a run of CUDA C++ becomes a program of one file. Save the source instead.', true);
    return;
  }
  try {
    const { blob, name } = await api.exported(id, format);
    download(blob, name);
    ui.say(`${name} is saved.`);
  } catch (error) {
    ui.say(error instanceof Error ? error.message : String(error), true);
  }
}

/** Makes a link of the document; null where the form has a fault or the service refuses. */
export async function share(result: string | null = null): Promise<{ url: string } | { failure: string }> {
  const [fault] = workspace.built.problems;
  if (fault) return { failure: `${fault.message} Mend this field first; a link keeps the whole launch.` };
  try {
    const link = await api.share(workspace.payload(), workspace.origin.share, result);
    return { url: new URL(link.url, location.origin).href };
  } catch (error) {
    if (error instanceof ApiError && error.fields.length) workspace.report(error.fields);
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

export function openExample(example: Example): void {
  run.forget();
  history.pushState(null, '', `/#example=${encodeURIComponent(example.id)}`);
  workspace.open(example.payload, { key: `example:${example.id}`, share: null, parent: null });
  ui.pane = 'code';
}
