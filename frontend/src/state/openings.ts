/** Ways into parts of the page that load when they are first wanted. */
import type { Language } from '../api/types';
import type { Draft } from '../document/draft';
import { ui } from './ui.svelte';
import { workspace } from './workspace.svelte';

export function openLibrary(): void {
  ui.drawer = 'examples';
  ui.pane = 'library';
}

/** What a part does; where it does not come, that is told. */
async function withPart<T>(loading: Promise<T>, act: (part: T) => Promise<void> | void): Promise<void> {
  let part: T;
  try {
    part = await loading;
  } catch {
    ui.say('This part of the page did not load. Try again once the connection is back.', true);
    return;
  }
  await act(part);
}

export const trySizes = (): Promise<void> => withPart(import('./sizes.svelte'), ({ sizes }) => sizes.start());

export const openSource = (file: File): Promise<void> => withPart(import('./opened-file'), (part) => part.openSource(file));

/** The language that the picker shows; where the change does not come about, it shows the one that stands. */
export async function chooseLanguage(picker: HTMLSelectElement): Promise<void> {
  await withPart(import('../languages/changes'), ({ languages }) => languages.choose(picker.value as Language));
  picker.value = workspace.draft.language;
}

/** Of what was pasted; `before` is the draft as it was. */
export const recogniseLanguage = (before: Draft): Promise<void> => withPart(import('../languages/changes'), ({ languages }) => languages.pasted(before));
