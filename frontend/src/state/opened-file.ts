/** Source files of the user's disk. */
import type { Draft } from '../document/draft';
import { languages } from '../languages/changes';
import { run } from './run.svelte';
import { ui } from './ui.svelte';
import { workspace } from './workspace.svelte';

const MAX_SOURCE_BYTES = 256 * 1024;
/** Files that a buffer begins with. */
const ARRAY = /\.(npy|png|jpe?g|webp)$/i;

/** An array or a picture that was not dropped on a buffer goes to the only one that begins with a file. */
function offer(file: File): void {
  const [input, ...more] = document.querySelectorAll<HTMLInputElement>('[data-takes-files] input');
  if (!input || more.length) {
    ui.say(`${file.name} is no source: choose “file” as the first values of a buffer, and drop it there.`, true);
    return;
  }
  const data = new DataTransfer();
  data.items.add(file);
  input.files = data.files;
  input.dispatchEvent(new Event('change', { bubbles: true }));
  ui.pane = 'launch';
}

/** Opens a file in the editor; the launch stays, fitted to the new kernel by parameter names. */
export async function openSource(file: File): Promise<void> {
  if (ARRAY.test(file.name)) return offer(file);
  if (file.size > MAX_SOURCE_BYTES) {
    ui.say(`${file.name} has ${file.size.toLocaleString('en-US')} bytes; a source has at most ${MAX_SOURCE_BYTES.toLocaleString('en-US')}.`, true);
    return;
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    ui.say(`${file.name} is not text in UTF-8.`, true);
    return;
  }
  if (text.includes('\0')) {
    ui.say(`${file.name} holds NUL characters, so it is no source.`, true);
    return;
  }
  run.forget();
  const before = JSON.parse(JSON.stringify(workspace.draft)) as Draft;
  workspace.draft.source = text.replace(/\r\n?/g, '\n');
  workspace.draft.fileName = file.name.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[.-]/, '_').slice(0, 64);
  workspace.draft.title = file.name.replace(/\.[^.]*$/, '').slice(0, 120);
  ui.pane = 'code';
  ui.say(`${file.name} is open.`);
  languages.opened(before);
}
