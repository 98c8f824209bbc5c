/** Ways into parts of the page that load when they are first wanted. */
import { ui } from './ui.svelte';

export function openLibrary(): void {
  ui.drawer = 'examples';
  ui.pane = 'library';
}

export async function trySizes(): Promise<void> {
  let part: typeof import('./sizes.svelte');
  try {
    part = await import('./sizes.svelte');
  } catch {
    ui.say('This part of the page did not load. Try again once the connection is back.', true);
    return;
  }
  await part.sizes.start();
}
