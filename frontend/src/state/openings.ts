/** Ways into parts of the page that load when they are first wanted. */
import { ui } from './ui.svelte';

export function openLibrary(): void {
  ui.drawer = 'examples';
  ui.pane = 'library';
}

/** What a part does; where it does not come, that is told. */
async function withPart<T>(loading: Promise<T>, act: (part: T) => Promise<void>): Promise<void> {
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
